#include "berthd/config_keys.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "controller/base/quantity.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/base/yaml.h"
#include "controller/domain/deployments/deployments.h"

namespace berth {
namespace {

using nlohmann::json;

constexpr std::string_view default_tiers = R"(
- {slug: free, name: Free, description: "Self-service, approved automatically", memory-mb: 512, cpu-millicores: 500, monthly-cost-points: 0, max-deployments: 1, custom-domain: false, auto-approve: true, ad-reach-multiplier: "1.0"}
- {slug: basic, name: Basic, description: "Promoted by an admin", memory-mb: 1024, cpu-millicores: 1000, monthly-cost-points: 1000, max-deployments: 3, custom-domain: true, auto-approve: false, ad-reach-multiplier: "1.5"}
)";
constexpr std::string_view default_rewards =
    "{signup-points: 100, signup-daily-points: 1000000, signup-first-count: 100, "
    "signup-first-multiplier: 5, signup-early-count: 1000, signup-early-multiplier: 2, "
    "referral-points: 50, session-points: 1, viewer-points: 1, user-daily-points: 1000, "
    "owner-daily-points: 100000, total-daily-points: 10000000}";
constexpr std::string_view default_ads =
    "{viewer-daily-impressions: 100, reservation-seconds: 600, open-per-app: 100, "
    "open-per-campaign: 1000}";

// The private registry of a development machine, and the large public ones.
constexpr std::string_view local_registry = "registry.localhost:5000";
constexpr std::string_view public_registries = "docker.io/library,ghcr.io";

// Names that could pass for the platform's own or receive its mail (RFC 2142, and the addresses to
// which certificate authorities write), and hosts that people or programs look up on their own.
// Ordinary words that operators want for their apps (app, web, docs, blog, shop) aren't included.
constexpr std::string_view default_reserved_names =
    "abuse,account,accounts,admin,administrator,api,auth,autoconfig,autodiscover,berth,berthd,"
    "billing,console,dashboard,dns,email,ftp,help,helpdesk,hostmaster,imap,internal,isatap,"
    "localhost,login,logout,mail,mailer-daemon,moderator,mx,no-reply,noc,noreply,ns,ns1,ns2,oauth,"
    "official,password,payments,pop,pop3,postmaster,register,root,security,signin,signup,"
    "smtp,sso,staff,status,superuser,support,sysadmin,system,vpn,webmail,webmaster,wpad,www";

// A second of the simulated cluster lasts 10 ms then.
constexpr int fastest_simulation = 100;

// Limits of the keys about builds of images.
constexpr std::uint64_t least_source_bytes = 10'000;
constexpr std::uint64_t most_source_bytes = 1'000'000'000;
constexpr std::uint64_t least_build_memory = 64ULL << 20;
constexpr std::uint64_t least_build_storage = 10'000'000;
constexpr std::uint64_t most_build_bytes = 1ULL << 50;
constexpr int most_builds = 16;

// 8 EiB is more than any registry stores, and every number of bytes below it fits into 64 bits.
constexpr long double max_image_bytes = 0x1p63L;

std::int64_t integer(const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value < least || *value > most)
    want("an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

std::uint64_t size(const std::string& text, std::uint64_t least, std::uint64_t most) {
  const auto bytes = parse_quantity(text);
  if (!bytes || *bytes < static_cast<long double>(least) || *bytes > static_cast<long double>(most))
    want("a size from " + std::to_string(least) + " to " + std::to_string(most) +
         " bytes, such as 20M or 1Gi");
  return std::uint64_t(*bytes);
}

template <EnumWithTexts E>
E one_of(const std::string& text) {
  const auto value = parse_enum<E>(text);
  if (!value) want(alternatives<E>());
  return *value;
}

bool on_or_off(const std::string& text) {
  if (text == "on" || text == "true") return true;
  if (text == "off" || text == "false") return false;
  want("on or off");
}

Duration duration(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  static const std::map<std::string, std::int64_t> units = {
      {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  constexpr std::int64_t ten_years_in_days = 3'650;
  if (digits == 0 || digits > 9 || !units.contains(unit))
    want("a duration such as 500ms, 10s, 5m, 24h or 90d");
  const Duration value(std::stoll(text.substr(0, digits)) * units.at(unit));
  if (value > std::chrono::days(ten_years_in_days)) want("a duration of at most ten years");
  return value;
}

// Returns nothing if there is no time-out.
std::optional<Duration> idle_timeout(const std::string& text) {
  const Duration value = duration(text);
  if (value.count() == 0) return std::nullopt;
  if (value < std::chrono::seconds(1)) want("0s or at least 1s");
  return value;
}

bool is_ip_address(const std::string& text) {
  in6_addr bytes{};
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

Address address(const std::string& text) {
  constexpr const char* wanted = "host:port, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080";
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) want(wanted);
  Address result = {.host = text.substr(0, colon),
                    .port = int(integer(text.substr(colon + 1), 0, 65535))};
  if (result.host.front() == '[' && result.host.back() == ']')
    result.host = result.host.substr(1, result.host.size() - 2);
  // A link-local address may be followed by % and the name of an interface (RFC 4007, section 11).
  const std::string plain = result.host.substr(0, result.host.find('%'));
  if (!is_ip_address(plain) && !is_host_name(result.host)) want(wanted);
  return result;
}

// An address as above, or `:port`, which is the port of all addresses; nothing if it is empty.
std::optional<Address> ingress_address(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text.front() != ':') return address(text);
  return Address{.host = "", .port = int(integer(text.substr(1), 1, 65535))};
}

std::optional<std::string> object_name_or_nothing(const std::string& text,
                                                  const std::string& wanted) {
  if (text.empty()) return std::nullopt;
  if (!is_object_name(text)) want(wanted);
  return text;
}

void take_wildcard_secret(Config& config, const std::string& text) {
  if (text.empty()) return;
  const size_t slash = text.find('/');
  const bool has_namespace = slash != std::string::npos;
  const std::string name = has_namespace ? text.substr(slash + 1) : text;
  if (!is_object_name(name) || (has_namespace && !is_host_label(text.substr(0, slash))))
    want("the name of a Secret in lower case, or namespace/name");
  config.wildcard_tls_secret = text;
}

void take_ca_file(Config& config, const std::string& text) {
  if (!text.empty() && !is_readable_file(text)) want("a file that berthd can read");
  config.mail_ca_file = text;
}

bool is_name_server(const std::string& text) {
  if (is_ip_address(text)) return true;
  const Address server = address(text);
  return is_ip_address(server.host) && server.port > 0;
}

// Whether the text is a registry's host, optionally with the beginning of its images' paths.
bool is_image_prefix(const std::string& text) {
  const auto url = parse_url("https://" + text);
  return url && !url->has_user() && url->rest.find_first_of("?#") == std::string::npos;
}

// Whether the text can be a reference of an image. Registries decide about the rest.
bool is_image_reference(const std::string& text) {
  return text.size() <= deployments::max_image_length &&
         is_image_prefix(text.substr(0, text.find_first_of("@ ")) + "/") && !text.contains(' ') &&
         text.find('/') != std::string::npos && !text.ends_with('/');
}

std::optional<std::string> text_or_nothing(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> account_or_nothing(const std::string& text) {
  const size_t slash = text.find('/');
  if (!text.empty() && (slash == std::string::npos || !is_host_label(text.substr(0, slash)) ||
                        !is_object_name(text.substr(slash + 1))))
    want("a namespace and a name, such as berth/berth");
  return text_or_nothing(text);
}

void take_reserved_names(Config& config, const std::string& text) {
  const std::vector<std::string> names = list_items(text);
  for (const std::string& name : names)
    if (!std::ranges::all_of(name, [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
        }))
      want("a list of names of letters, digits, '-', '_' and '.', separated by commas");
  config.reserved_names = ReservedNames(names);
}

void take_rewards(Config& config, const std::string& text) {
  const json entries = structured_value(text);
  if (!entries.is_object()) want("an object in the form that `berthd config` prints");
  accounts::SignupBonus& bonus = config.signup_bonus;
  rewards::Rules& rules = config.reward_rules;
  const std::map<std::string_view, std::int64_t*> fields = {
      {"signup-points", &bonus.points},
      {"signup-daily-points", &bonus.daily_points},
      {"signup-first-count", &bonus.first_count},
      {"signup-first-multiplier", &bonus.first_multiplier},
      {"signup-early-count", &bonus.early_count},
      {"signup-early-multiplier", &bonus.early_multiplier},
      {"referral-points", &rules.referral},
      {"session-points", &rules.session},
      {"viewer-points", &rules.viewer},
      {"user-daily-points", &rules.user_daily},
      {"owner-daily-points", &rules.owner_daily},
      {"total-daily-points", &rules.total_daily}};
  for (const auto& [name, value] : entries.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) want("an object of known fields; " + name + " is unknown");
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() > ledger::max_points)
      want("an object of whole numbers from 0 to 2^53-1");
    *field->second = value;
  }
  bonus.first_multiplier = std::max<std::int64_t>(1, bonus.first_multiplier);
  bonus.early_multiplier = std::max<std::int64_t>(1, bonus.early_multiplier);
}

void take_ads(Config& config, const std::string& text) {
  constexpr std::int64_t most = 1'000'000'000;
  const json entries = structured_value(text);
  if (!entries.is_object()) want("an object in the form that `berthd config` prints");
  std::int64_t seconds = config.ad_rules.reservation_life / std::chrono::seconds(1);
  const std::map<std::string_view, std::int64_t*> fields = {
      {"viewer-daily-impressions", &config.ad_rules.viewer_daily_impressions},
      {"reservation-seconds", &seconds},
      {"open-per-app", &config.ad_rules.open_per_app},
      {"open-per-campaign", &config.ad_rules.open_per_campaign}};
  for (const auto& [name, value] : entries.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) want("an object of known fields; " + name + " is unknown");
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
        value.get<std::int64_t>() > most)
      want("an object of whole numbers from 1 to " + std::to_string(most));
    *field->second = value;
  }
  config.ad_rules.reservation_life = std::chrono::seconds(seconds);
}

std::vector<AddressRange> address_ranges(const std::string& text, const char* allowed) {
  std::vector<AddressRange> ranges;
  for (const std::string& item : list_items(text)) {
    const auto range = parse_address_range(item);
    if (!range) want(allowed);
    ranges.push_back(*range);
  }
  return ranges;
}

void take_base_url(Config& config, const std::string& text) {
  if (text.empty()) return;
  const auto url = parse_url(text);
  // Pages, cookies and discovery documents are at the root of their host (RFC 8414, section 3.1).
  if (!url || !url->is_web() || url->has_user() || (!url->rest.empty() && url->rest != "/"))
    want("an http or https URL with a host, without a path and a query");
  config.base_url = url->origin();
}

void take_smtp_url(Config& config, const std::string& text) {
  if (text.empty()) return;
  // The refusal never repeats the value, because it contains the password.
  constexpr const char* wanted =
      "an smtp:// or smtps:// URL with a host and nothing after the port";
  const auto url = parse_url(text);
  const bool is_smtp = url && (url->scheme == "smtp" || url->scheme == "smtps");
  if (!is_smtp || (!url->rest.empty() && url->rest != "/")) want(wanted);
  config.mail_server = MailServer{
      .url = url->origin(), .host = url->host, .user = url->user, .password = url->password};
}

void take_internal_secrets(Config& config, const std::string& text) {
  constexpr size_t most = 16;
  std::string items = text;
  std::ranges::replace(items, '\n', ',');
  std::ranges::replace(items, '\r', ',');
  config.internal_secrets.clear();
  for (const std::string& item : list_items(items)) {
    const size_t end = item.find('=');
    if (end == std::string::npos || end + 1 == item.size()) want("name=secret, or several of them");
    const std::string name = item.substr(0, end);
    if (!internal_secrets::is_name(name))
      want("name=secret, where the name " + std::string(internal_secrets::name_rule));
    config.internal_secrets.push_back({.name = name, .secret = item.substr(end + 1)});
  }
  if (config.internal_secrets.size() > most) want("at most " + std::to_string(most) + " secrets");
}

void take_mail_from(Config& config, const std::string& text) {
  if (text.empty()) return;
  config.mail_from = parse_mailbox(text);
  if (!config.mail_from)
    want("an address, such as no-reply@example.org or berth <no-reply@example.org>");
}

}  // namespace

void want(const std::string& allowed) { throw std::invalid_argument(allowed); }

std::vector<std::string> list_items(const std::string& text) {
  std::vector<std::string> items;
  if (text == "[]") return items;  // an empty list in the YAML file
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    while (!item.empty() && item.front() == ' ') item.erase(0, 1);
    while (!item.empty() && item.back() == ' ') item.pop_back();
    if (!item.empty()) items.push_back(item);
  }
  return items;
}

bool is_readable_file(const std::string& path) {
  return !std::filesystem::is_directory(path) && std::ifstream(path).good();
}

bool is_object_name(std::string_view text) {
  constexpr size_t longest = 253;
  if (text.size() > longest) return false;
  for (size_t at = 0; at <= text.size();) {
    const std::string_view label = text.substr(at, text.find('.', at) - at);
    if (!is_host_label(label)) return false;
    at += label.size() + 1;
  }
  return true;
}

json structured_value(const std::string& text) {
  try {
    return parse_yaml(text, "the value");
  } catch (const std::runtime_error& failure) {
    want(std::string("YAML: ") + failure.what());
  }
}

const std::vector<Key>& config_keys() {
  static const std::vector<Key> table = {
      {"listen", "127.0.0.1:8080", "address of the API; port 0 lets the system choose one",
       [](Config& c, const std::string& v) { c.listen = address(v); }},
      {"base-url", "",
       "public URL of the API: the issuer of tokens and the beginning of links in mail; "
       "http://<listen> if empty. Production requires it",
       take_base_url},
      {"data-dir", "./data",
       "directory of the keys and, if the key database is empty, of the SQLite database",
       [](Config& c, const std::string& v) {
         if (v.empty()) want("a path");
         c.data_dir = v;
       }},
      {"client-files", "",
       "directory of the client's archives that scripts/client.sh makes; berthd serves them below "
       "/download, and a script at /install.sh that installs the client. Nothing if empty",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !std::filesystem::is_directory(v)) want("a directory");
         c.client_files = v;
       }},
      {"database", "",
       "address of a PostgreSQL database, such as "
       "postgresql://berth@db.example.org/berth?sslmode=verify-full, in the form that libpq reads; "
       "several hosts are separated by commas. If empty, the database is a SQLite file in "
       "data-dir. "
       "In production sslmode has to be verify-full, except for a Unix socket or on loopback",
       take_database, Key::Kind::secret},
      {"database-password-file", "",
       "file with the password of the PostgreSQL user, which is read for each new connection, so "
       "that it can be replaced while berthd runs; without effect if database is empty",
       take_database_password_file},
      {"keys-file", "",
       "file such as keys.json of another berthd on the same PostgreSQL database, which is copied "
       "into data-dir if that has no keys.json",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_readable_file(v)) want("a file that berthd can read");
         c.keys_file = v;
       }},
      {"backup-before-upgrade", "on",
       "whether the database is copied into <data-dir>/upgrades before a newer version upgrades "
       "its "
       "schema; the newest 3 copies are kept",
       [](Config& c, const std::string& v) { c.backup_before_upgrade = on_or_off(v); }},
      {"environment", "development", "development or production",
       [](Config& c, const std::string& v) {
         if (v != "development" && v != "production") want("development or production");
         c.production = v == "production";
       }},
      {"allow-remote", "off",
       "lets development listen on addresses other than loopback; without effect in production",
       [](Config& c, const std::string& v) { c.allow_remote = on_or_off(v); }},
      {"first-account-admin", "off",
       "makes the first account the admin if it is created on this machine, and approves the "
       "requests of its apps at once; allowed only in development on a loopback address",
       [](Config& c, const std::string& v) { c.first_account_admin = on_or_off(v); }},
      {"internal-secret", "",
       "secret for the header x-internal-secret; development creates one at the first start if it "
       "is empty, production requires it",
       [](Config& c, const std::string& v) { c.internal_secret = text_or_nothing(v); },
       Key::Kind::secret},
      {"internal-secrets", "",
       "further secrets for the header x-internal-secret, as name=secret, separated by commas or "
       "lines, at most 16. The audit log has the name as the actor. While a secret is replaced, "
       "the "
       "old one and the new one are here",
       take_internal_secrets, Key::Kind::secret},
      {"kubernetes", "simulated",
       "simulated (development only: nothing runs), local (containers run on this machine, by "
       "podman "
       "and Caddy), kubeconfig or in-cluster",
       [](Config& c, const std::string& v) { c.kubernetes = one_of<Cluster>(v); }},
      {"simulated-speed", "1",
       "how many times as fast pods start, stop and fail on the simulated cluster, from 1 to 100; "
       "tests of an app needn't wait for it then. Without effect on a real cluster",
       [](Config& c, const std::string& v) {
         c.simulated_speed = int(integer(v, 1, fastest_simulation));
       }},
      {"simulated-builds", "off",
       "lets the simulated cluster pretend to build images from source, for tests of programs that "
       "do that: nothing is built, and the image is only a name",
       [](Config& c, const std::string& v) { c.simulated_builds = on_or_off(v); }},
      {"max-source-size", "20M",
       "the most that the source of an image may have as it is sent, compressed, such as 20M",
       [](Config& c, const std::string& v) {
         c.max_source_bytes = size(v, least_source_bytes, most_source_bytes);
       }},
      {"build-timeout", "15m", "how long the build of an image may take, from 10s to 6h",
       [](Config& c, const std::string& v) {
         c.build_timeout = duration(v);
         if (c.build_timeout < std::chrono::seconds(10) || c.build_timeout > std::chrono::hours(6))
           want("from 10s to 6h");
       }},
      {"build-memory", "1Gi", "how much memory a build may use, from 64Mi",
       [](Config& c, const std::string& v) {
         c.build_memory_bytes = size(v, least_build_memory, most_build_bytes);
       }},
      {"build-storage", "5G",
       "how much the images that were built for an account may have together when it asks for "
       "another one, and how much one of them may have, from 10M",
       [](Config& c, const std::string& v) {
         c.build_storage_bytes = size(v, least_build_storage, most_build_bytes);
       }},
      {"builds-at-once", "1", "how many images are built at the same time, from 1 to 16",
       [](Config& c, const std::string& v) { c.builds_at_once = int(integer(v, 1, most_builds)); }},
      {"kubeconfig", "",
       "path of a kubeconfig; $KUBECONFIG or ~/.kube/config if empty. Without effect unless "
       "kubernetes is kubeconfig",
       [](Config& c, const std::string& v) {
         if (!v.empty()) c.kubeconfig = v;
       }},
      {"context", "",
       "context in the kubeconfig; its current context if empty. Without effect unless kubernetes "
       "is kubeconfig",
       [](Config& c, const std::string& v) { c.context = v; }},
      {"lease-namespace", "",
       "namespace of the Lease that decides which of several berthd processes leads; if empty, the "
       "pod's own namespace, or default. Without effect on the simulated cluster, which has one "
       "berthd",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_host_label(v)) want("the name of a namespace");
         c.lease_namespace = text_or_nothing(v);
       }},
      {"apps-domain", "apps.localhost",
       "domain of deployments, which are served at <name>.<apps-domain>",
       [](Config& c, const std::string& v) {
         if (!is_host_name(v)) want("a domain in lower case, such as apps.example.org");
         c.apps_domain = v;
       }},
      {"registries", "",
       "allowed prefixes of images, separated by commas; if empty, docker.io/library,ghcr.io, and "
       "in development registry.localhost:5000 as well, which on a cluster is a node itself",
       [](Config& c, const std::string& v) {
         c.registries = list_items(!v.empty()     ? v
                                   : c.production ? std::string(public_registries)
                                                  : std::string(local_registry) + "," +
                                                        std::string(public_registries));
         for (std::string& prefix : c.registries)
           while (prefix.ends_with('/')) prefix.pop_back();
         std::erase(c.registries, "");
         if (c.registries.empty() || !std::ranges::all_of(c.registries, is_image_prefix))
           want("a list of prefixes, such as ghcr.io or docker.io/library");
       }},
      {"ingress-class", "traefik",
       "class of tenants' Ingresses; without effect on the simulated cluster, which serves all",
       [](Config& c, const std::string& v) {
         if (!is_object_name(v)) want("the name of an IngressClass, in lower case");
         c.ingress_class = v;
       }},
      {"cluster-issuer", "",
       "cert-manager's ClusterIssuer for custom domains, and for sub-domains if there is no "
       "wildcard certificate",
       [](Config& c, const std::string& v) {
         c.cluster_issuer = object_name_or_nothing(v, "the name of a ClusterIssuer, in lower case");
       }},
      {"wildcard-tls-secret", "",
       "TLS secret for *.<apps-domain>: namespace/name of the ingress controller's default "
       "certificate, or the name of a secret in each app's namespace. The simulated cluster "
       "serves plain http all the same",
       take_wildcard_secret},
      {"ingress-namespace", "",
       "namespace of the ingress controller's pods. Operators' containers take requests from there "
       "alone, and reach its ports; if this and ingress-ranges are empty, every namespace that "
       "isn't an app's may send them requests",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_host_label(v)) want("the name of a namespace");
         c.ingress_namespace = v;
       }},
      {"ingress-ranges", "",
       "addresses of the nodes on which the ingress controller runs, if it uses their network; the "
       "same rules as for ingress-namespace hold for them",
       [](Config& c, const std::string& v) {
         c.ingress_ranges =
             address_ranges(v, "a list of addresses and ranges, such as 10.1.0.0/24");
       }},
      {"ingress-ports", "80,443,8000,8443",
       "ports of the ingress controller's pods, by which containers reach public names that lead "
       "to "
       "this cluster; without effect if ingress-namespace and ingress-ranges are empty",
       [](Config& c, const std::string& v) {
         c.ingress_ports.clear();
         for (const std::string& port : list_items(v))
           c.ingress_ports.push_back(int(integer(port, 1, 65535)));
       }},
      {"tenant-node-selector", "",
       "labels of the nodes on which operators' containers run, such as "
       "berth.example.org/tenants=yes, separated by commas, or as a map in YAML; if empty, all "
       "nodes, berthd's included",
       take_tenant_node_selector},
      {"tenant-tolerations", "",
       "taints of nodes that operators' containers tolerate, such as "
       "berth.example.org/tenants=yes:NoSchedule, separated by commas, or as a list of tolerations "
       "in YAML",
       take_tenant_tolerations},
      {"tenant-priority-class", "",
       "PriorityClass of operators' containers, which should be below berthd's own; the cluster's "
       "default if empty",
       [](Config& c, const std::string& v) {
         c.tenant_priority_class =
             object_name_or_nothing(v, "the name of a PriorityClass, in lower case");
       }},
      {"tenant-role", "",
       "ClusterRole with the rights that berthd has in apps' namespaces: it binds its own "
       "ServiceAccount (service-account) to this role in each of them. If empty, berthd needs "
       "these "
       "rights in all namespaces",
       [](Config& c, const std::string& v) {
         if (v.find_first_of("/% ") != std::string::npos) want("the name of a ClusterRole");
         c.tenant_role = text_or_nothing(v);
       }},
      {"service-account", "",
       "berthd's own ServiceAccount as namespace/name; required if tenant-role is set, without "
       "effect otherwise",
       [](Config& c, const std::string& v) { c.service_account = account_or_nothing(v); }},
      {"exec-service-account", "",
       "ServiceAccount as namespace/name that runs commands in containers and connects to their "
       "ports, and that berthd requests tokens of ten minutes for; if empty, neither is possible "
       "on a real cluster. Without effect if kubernetes is simulated or local, where both work "
       "without an account",
       [](Config& c, const std::string& v) { c.exec_service_account = account_or_nothing(v); }},
      {"ingress-http", "",
       "address on which Caddy serves apps and berthd's own pages over http, such as :80, which is "
       "port 80 of all addresses; if empty, 127.0.0.1:8000 in development and :80 in production. "
       "Port 0 lets the system choose one, which is kept. Without effect unless kubernetes is "
       "local",
       [](Config& c, const std::string& v) { c.ingress_http = ingress_address(v); }},
      {"ingress-https", "",
       "the same for https, :443 if empty; without effect unless base-url is an https URL",
       [](Config& c, const std::string& v) { c.ingress_https = ingress_address(v); }},
      {"acme-directory", "https://acme-v02.api.letsencrypt.org/directory",
       "where Caddy orders certificates (RFC 8555, section 7.1.1); without effect unless "
       "kubernetes is local and base-url is an https URL",
       [](Config& c, const std::string& v) {
         const auto url = parse_url(v);
         if (!url || url->scheme != "https")
           want("an https URL, such as https://acme-v02.api.letsencrypt.org/directory");
         c.acme_directory = v;
       }},
      {"acme-ca-file", "",
       "file with the certificate authorities to check the certificate of acme-directory with; the "
       "system's if empty",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_readable_file(v)) want("a file that berthd can read");
         c.acme_ca_file = v;
       }},
      {"isolation", "warn",
       "what follows from the isolation probe, which tries from containers like tenants' whether "
       "they reach what they must not: warn logs and shows it, required also keeps new "
       "deployments waiting until every path was found shut, off doesn't probe. Without effect on "
       "the simulated cluster",
       [](Config& c, const std::string& v) { c.isolation = one_of<isolation::Mode>(v); }},
      {"isolation-image", "",
       "image that the isolation probe runs: berth's own, from where the nodes can pull it without "
       "credentials. If empty, nothing is probed; required if isolation is required. On one "
       "machine, berthd makes it from itself if it is empty",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_image_reference(v))
           want("an image with its registry, such as registry.example.org/berth:0.1.0");
         c.isolation_image = v;
       }},
      {"isolation-internet", "",
       "public address to which the isolation probe opens a connection on port 443, which may "
       "succeed, and on port 25, which must not. If empty, it tries nothing outside the cluster",
       [](Config& c, const std::string& v) {
         if (!v.empty() && !is_ip_address(v)) want("an IP address");
         c.isolation_internet = v;
       }},
      {"max-image-size", "0",
       "the most that the layers of an image may have together, as its registry stores them, such "
       "as 10Gi. berthd asks the registry before a node pulls the image, with the deployment's "
       "credentials. With 0, images may have any size, and no registry is asked. Without effect on "
       "the simulated cluster",
       [](Config& c, const std::string& v) {
         const auto bytes = parse_quantity(v);
         // 100m is a tenth of a byte, and must not become 0, which means any size.
         if (!bytes || (*bytes != 0 && *bytes < 1) || *bytes > max_image_bytes)
           want("a size such as 10Gi, or 0");
         c.max_image_bytes = std::uint64_t(*bytes);
       }},
      {"image-size-unknown", "pull",
       "what becomes of an image whose registry doesn't say how large it is, if max-image-size is "
       "set: pull, or refuse, which asks the registry again every 30 seconds",
       [](Config& c, const std::string& v) {
         c.unknown_image_size = one_of<reconcilers::UnknownSize>(v);
       }},
      {"reconcile-workers", "8", "how many deployments are reconciled at the same time",
       [](Config& c, const std::string& v) { c.reconcile_workers = int(integer(v, 1, 256)); }},
      {"traefik-metrics-url", "",
       "URL of Traefik's Prometheus metrics, from which requests of deployments are counted, and "
       "by which those with scale get containers; if empty, the counts are unknown",
       [](Config& c, const std::string& v) {
         const auto url = parse_url(v);
         if (!v.empty() && !(url && url->is_web()))
           want("an http or https URL, such as http://traefik.ingress:8082/metrics");
         c.traefik_metrics_url = v;
       }},
      {"scale-down-after", "5m",
       "how long the requests of a deployment with scale have to be few before it gets fewer "
       "containers, from 10s to 6h",
       [](Config& c, const std::string& v) {
         c.scale_down_after = duration(v);
         if (c.scale_down_after < std::chrono::seconds(10) ||
             c.scale_down_after > std::chrono::hours(6))
           want("from 10s to 6h");
       }},
      {"dns-servers", "",
       "name servers to ask about custom domains, with or without a port; the system's if empty",
       [](Config& c, const std::string& v) {
         c.dns_servers = list_items(v);
         if (!std::ranges::all_of(c.dns_servers, is_name_server))
           want("addresses such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:5353");
       }},
      {"smtp-url", "",
       "mail server, such as smtp://user:password@host:587; if empty, mail stays in the outbox",
       take_smtp_url, Key::Kind::secret},
      {"smtp-tls", "auto",
       "TLS to the mail server: required, if-offered, or auto, which requires it except on "
       "loopback; without effect if smtp-url is empty",
       [](Config& c, const std::string& v) { c.mail_tls = one_of<MailTlsRule>(v); }},
      {"smtp-ca-file", "",
       "file with the certificate authorities to check the mail server's certificate with; the "
       "system's if empty. Without effect if smtp-url is empty",
       take_ca_file},
      {"mail-from", "",
       "sender of mail, such as berth <no-reply@example.org>; required if smtp-url is set, without "
       "effect otherwise",
       take_mail_from},
      {"refresh-reuse-grace", "10s",
       "a consumed refresh token that is used again within this time is refused without revoking "
       "anything",
       [](Config& c, const std::string& v) { c.refresh_reuse_grace = duration(v); }},
      {"trusted-proxies", "",
       "addresses and ranges of proxies whose X-Forwarded-For is trusted, separated by commas",
       [](Config& c, const std::string& v) {
         c.trusted_proxies = address_ranges(v,
                                            "a list of addresses and ranges, such as 192.0.2.7, "
                                            "10.0.0.0/8 or 2001:db8:42::/48, separated by commas");
       }},
      {"rate-limits", "on",
       "whether requests and logins are limited; off is allowed in development only",
       [](Config& c, const std::string& v) { c.rate_limits = on_or_off(v); }},
      {"password-blocklist", "on",
       "on: new passwords that are easy to guess, such as common words, rows of keys, repetitions "
       "and the user's name, are refused; off: their length alone counts",
       [](Config& c, const std::string& v) { c.password_blocklist = on_or_off(v); }},
      {"treasury-genesis", "",
       "points that the treasury receives at the very first start; if empty, 1000000000 in "
       "development and 0 in production",
       [](Config& c, const std::string& v) {
         c.treasury_genesis = v.empty() ? (c.production ? 0 : 1'000'000'000)
                                        : integer(v, 0, (std::int64_t(1) << 53) - 1);
       }},
      {"refund-two-admins-above", "10000",
       "points that one admin may give back and take back on a UTC day; what goes beyond them "
       "waits "
       "until another admin confirms it. With 0, everything does. A platform with a single admin "
       "sets it to the largest number, 9007199254740991",
       [](Config& c, const std::string& v) {
         c.refund_two_admins_above = integer(v, 0, ledger::max_points);
       }},
      {"support-refund-limit", "500",
       "points that an admin with the role support may give back on a UTC day; what goes beyond "
       "them waits until an admin with the role admin or finance confirms it",
       [](Config& c, const std::string& v) {
         c.support_refund_limit = integer(v, 0, ledger::max_points);
       }},
      {"http-threads", "64", "how many requests are handled at the same time",
       [](Config& c, const std::string& v) { c.http_threads = int(integer(v, 1, 4096)); }},
      {"max-connections", "1024",
       "how many connections may be open; a further one displaces an idle one, or is answered with "
       "503",
       [](Config& c, const std::string& v) { c.max_connections = int(integer(v, 1, 65536)); }},
      {"max-connections-per-network", "",
       "how many connections one IPv4 address or IPv6 /64 may have; half as many before it has "
       "sent a valid token. Trusted proxies are exempt. If empty, a quarter of max-connections; in "
       "development, loopback addresses then have no limit",
       [](Config& c, const std::string& v) {
         if (!v.empty()) c.max_connections_per_network = int(integer(v, 1, 65536));
       }},
      {"max-body-bytes", "1048576", "largest body of a request, in bytes",
       [](Config& c, const std::string& v) { c.max_body_bytes = int(integer(v, 1024, 64 << 20)); }},
      {"request-timeout", "15s", "how long a request may take to arrive",
       [](Config& c, const std::string& v) {
         c.request_timeout = duration(v);
         if (c.request_timeout.count() == 0) want("more than 0");
       }},
      {"tiers", default_tiers, "deploy tiers at the first start; admins change them afterwards",
       take_tiers},
      {"reserved-names", default_reserved_names,
       "names that nobody may give to a user, an app or an avatar (nor names that look like them), "
       "or to a sub-domain; this list replaces the default, which `berthd config` prints",
       take_reserved_names},
      {"rewards", default_rewards,
       "points that the treasury pays for signing up (times a multiplier), for referring a user, "
       "for a minute in an app and for viewing an ad, and the most that it pays in a UTC day",
       take_rewards},
      {"ads", default_ads,
       "how many impressions of a campaign are paid for one viewer in a UTC day, how long a served "
       "impression can be reported, and how many served impressions may wait for a report",
       take_ads},
      {"log-format", "json", "format of the log: json or text",
       [](Config& c, const std::string& v) {
         if (v != "json" && v != "text") want("json or text");
         c.log_format = v == "json" ? log::Format::json : log::Format::text;
       }},
      {"log-level", "info", "lowest level that is logged: debug, info, warning or error",
       [](Config& c, const std::string& v) {
         const auto level = log::parse_level(v);
         if (!level) want("debug, info, warning or error");
         c.log_level = *level;
       }},
      {"webhook-allow-private", "off",
       "whether webhooks may be sent to loopback and private addresses; on is allowed in "
       "development only",
       [](Config& c, const std::string& v) { c.webhook_allow_private = on_or_off(v); }},
      {"cluster-ranges", "",
       "public addresses that belong to the cluster's pods, services, nodes and API server, such "
       "as "
       "2001:db8:42::/48; like private addresses, they get no webhooks, and operators' containers "
       "don't reach them",
       [](Config& c, const std::string& v) {
         c.cluster_ranges =
             address_ranges(v, "a list of ranges, such as 198.51.100.0/24 or 2001:db8:42::/48");
       }},
      {"session-lifetime", "24h", "how long a session JWT is valid",
       [](Config& c, const std::string& v) {
         c.session_lifetime = duration(v);
         if (c.session_lifetime.count() < 1000) want("at least 1s");
       }},
      {"session-idle-timeout", "2h",
       "how long a login in a browser may be idle before it ends; 0s means forever",
       [](Config& c, const std::string& v) { c.session_idle_timeout = idle_timeout(v); }},
      {"jwt-idle-timeout", "0s",
       "the same for a login through POST /api/auth/login; with 0s, its JWT is valid for "
       "session-lifetime, used or not",
       [](Config& c, const std::string& v) { c.jwt_idle_timeout = idle_timeout(v); }},
      {"refresh-family-lifetime", "90d",
       "how long tokens can be refreshed before the user has to log in again",
       [](Config& c, const std::string& v) {
         c.refresh_family_lifetime = duration(v);
         if (c.refresh_family_lifetime.count() < 1000) want("at least 1s");
       }},
      {"secret-grace", "0s", "how long the old client secret works after a rotation",
       [](Config& c, const std::string& v) { c.secret_grace = duration(v); }},
      {"internal-listen", "",
       "address of a listener of its own for /api/internal, which takes the internal secret; "
       "listen "
       "then doesn't, and only admins who use the console get through there. If empty, listen "
       "takes "
       "the secret",
       [](Config& c, const std::string& v) {
         if (!v.empty()) c.internal_listen = address(v);
       }},
      {"metrics-listen", "127.0.0.1:9090",
       "address of /metrics, /livez and /readyz; port 0 lets the system choose one",
       [](Config& c, const std::string& v) { c.metrics_listen = address(v); }},
  };
  return table;
}

}  // namespace berth
