#include "berthd/config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "berthd/config_file.h"
#include "berthd/config_keys.h"
#include "berthd/secret_strength.h"
#include "controller/base/ascii.h"
#include "controller/base/spelling.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"

namespace berth {
namespace {

using nlohmann::json;

constexpr std::string_view variable_prefix = "BERTHD_";
constexpr std::string_view config_variable = "BERTHD_CONFIG";

std::string read_file(const std::string& key, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (!in || !(content << in.rdbuf())) throw ConfigError(key + ": " + path + " can't be read");
  std::string text = content.str();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

struct Value {
  std::string text;
  std::string source;
};

const Key* find_key(std::string_view name) {
  const auto row = std::ranges::find(config_keys(), name, &Key::name);
  return row == config_keys().end() ? nullptr : &*row;
}

std::string variable_of(std::string_view key) {
  std::string name(variable_prefix);
  for (const char c : key)
    name += c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string key_of(std::string_view variable) {
  std::string name;
  for (const char c : variable.substr(variable_prefix.size()))
    name += c == '_' ? '-' : lower_case(c);
  return name;
}

// The end of a sentence about a key that doesn't exist.
std::string suggestion(const std::string& name, std::string (*written)(const std::string&)) {
  const auto known = nearest_spelling(name, flag_names());
  return known ? "; did you mean " + written(*known) + "?" : "; `berthd config` prints all keys";
}

// Kubernetes sets variables for each Service of a pod's namespace, and their names begin with that
// of the Service (kubernetes.io, "Discovering services").
bool is_service_link(const std::string& name, const std::string& value) {
  static const std::regex address("BERTHD_(.*_)?PORT");
  static const std::regex others(
      "BERTHD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))"
      "?)");
  if (std::regex_match(name, address)) return value.contains("://");
  return std::regex_match(name, others);
}

// What is set, by key, and everything that is wrong with it.
class Settings {
 public:
  Settings() {
    for (const Key& key : config_keys())
      values_[std::string(key.name)] = {std::string(key.fallback), "default"};
  }

  void read_yaml(const std::string& path) {
    try {
      for (const FileEntry& entry : config_file_entries(read_file("config", path), path))
        set(entry.key, entry.value, path + ", line " + std::to_string(entry.line));
    } catch (const ConfigError& failure) {
      refuse("config", failure.what());
    } catch (const std::runtime_error& failure) {
      refuse("config", std::string("config: ") + failure.what());
    }
  }

  void read_environment(const Environment& environment) {
    const std::vector<std::string> names = flag_names();
    for (const auto& [variable, text] : environment) {
      const std::string name = key_of(variable);
      if (variable == config_variable || is_service_link(variable, text)) continue;
      if (variable == variable_of(name) && std::ranges::find(names, name) != names.end())
        set(name, text, variable);
      else
        refuse(name, variable + ": there is no such variable" +
                         suggestion(name, [](const std::string& key) { return variable_of(key); }));
    }
  }

  // `name` is a key, or a key followed by `-file`.
  void set(const std::string& name, const std::string& text, const std::string& source) {
    if (find_key(name) != nullptr) {
      values_[name] = {text, source};
      return;
    }
    const std::string base = name.ends_with("-file") ? name.substr(0, name.size() - 5) : "";
    if (base.empty() || find_key(base) == nullptr) {
      refuse(name, source + ": there is no key " + name +
                       suggestion(name, [](const std::string& key) { return key; }));
      return;
    }
    try {
      values_[base] = {read_file(name, text), source + " (" + text + ")"};
    } catch (const ConfigError& failure) {
      refuse(base, failure.what());
    }
  }

  const Value& value_of(const Key& key) const { return values_.find(key.name)->second; }

  void refuse(const std::string& key, const std::string& problem) {
    bad_.insert(key);
    problems_.push_back(problem);
  }
  bool is_bad(const std::string& key) const { return bad_.contains(key); }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::map<std::string, Value, std::less<>> values_;
  std::set<std::string> bad_;
  std::vector<std::string> problems_;
};

std::string shown(const Key& key, const std::string& text) {
  if (key.kind == Key::Kind::secret && !text.empty()) return "********";
  return text;
}

// A value as a message repeats it: one line, and not all of a list of tiers.
std::string quoted(const Key& key, const std::string& text) {
  std::string line = shown(key, text);
  std::ranges::replace(line, '\n', ' ');
  constexpr size_t most = 120;
  return "'" + (line.size() > most ? cut(line, most) + "…" : line) + "'";
}

void take(const Key& key, const Value& value, Config& config, Settings& settings) {
  const std::string name(key.name);
  if (settings.is_bad(name)) return;
  try {
    key.take(config, value.text);
  } catch (const std::invalid_argument& allowed) {
    settings.refuse(name, name + ": " + quoted(key, value.text) + " (from " + value.source +
                              ") isn't valid; it must be " + allowed.what());
  } catch (const json::exception& failure) {
    settings.refuse(
        name, name + " (from " + value.source + "): a field has the wrong type: " + failure.what());
  }
}

// Every process on the machine can read command lines.
void refuse_secrets_in_flags(const Config& config, const std::map<std::string, std::string>& flags,
                             Settings& settings) {
  for (const auto& [name, text] : flags) {
    const Key* key = find_key(name);
    if (name == "smtp-url" && config.mail_server && config.mail_server->password.empty()) continue;
    if (name == "database" && config.database &&
        !db::postgres::parse_address(config.database->address).has_password)
      continue;
    if (key != nullptr && key->kind == Key::Kind::secret && !text.empty())
      settings.refuse(name, name +
                                ": production doesn't accept this on the command line, which other "
                                "processes can read; use --" +
                                name + "-file or " + variable_of(name));
  }
}

// What is wrong with values that are right one by one. A key that was refused already is left out.
class WholeCheck {
 public:
  WholeCheck(const Config& config, Settings& settings) : config_(config), settings_(settings) {}

  void run() {
    if (settings_.is_bad("environment")) return;
    if (config_.mail_server && !config_.mail_from)
      refuse("mail-from", "required if smtp-url is set");
    if (config_.listen.port != 0 && config_.listen.text() == config_.metrics_listen.text())
      refuse("metrics-listen", config_.listen.text() + " is the address of listen, too");
    if (config_.internal_listen) check_internal_listen(*config_.internal_listen);
    if (config_.tenant_role && !config_.service_account)
      refuse("service-account", "required if tenant-role is set");
    if (config_.isolation == isolation::Mode::required &&
        config_.kubernetes != Cluster::simulated && config_.kubernetes != Cluster::local &&
        config_.isolation_image.empty())
      refuse("isolation-image", "required if isolation is required");
    check_ingress("ingress-http", config_.ingress_http);
    check_ingress("ingress-https", config_.ingress_https);
    if (config_.ingress_http && config_.ingress_https && config_.ingress_http->port != 0 &&
        config_.ingress_http->port == config_.ingress_https->port)
      refuse("ingress-https", "ingress-http has this port, too");
    if (config_.database) check_database(*config_.database);
    if (config_.database && config_.kubernetes == Cluster::local)
      refuse("kubernetes",
             "local is for one berthd with the database in data-dir, so database has to be empty");
    if (config_.first_account_admin) check_first_account_admin();
    if (config_.production)
      check_production();
    else if (!is_loopback(config_.listen.host) && !config_.allow_remote)
      refuse("listen",
             config_.listen.host +
                 " isn't a loopback address; development accepts that only with allow-remote=on");
  }

 private:
  void refuse(const std::string& key, const std::string& problem) {
    if (!settings_.is_bad(key)) settings_.refuse(key, key + ": " + problem);
  }

  void check_internal_listen(const Address& address) {
    for (const Address& other : {config_.listen, config_.metrics_listen})
      if (address.port != 0 && address.text() == other.text())
        refuse("internal-listen", address.text() + " is the address of another listener, too");
    if (!config_.production && !is_loopback(address.host) && !config_.allow_remote)
      refuse("internal-listen", address.host +
                                    " isn't a loopback address; development accepts "
                                    "that only with allow-remote=on");
  }

  // Whoever comes first is the admin, so nobody else may be able to come.
  void check_first_account_admin() {
    constexpr const char* key = "first-account-admin";
    if (config_.production) refuse(key, "on is allowed in development only");
    std::vector<std::string> hosts = {config_.listen.host};
    for (const auto& ingress : {config_.ingress_http, config_.ingress_https})
      if (ingress && config_.kubernetes == Cluster::local) hosts.push_back(ingress->host);
    if (config_.base_url) hosts.push_back(parse_url(*config_.base_url).value().host);
    for (const std::string& host : hosts)
      if (!is_loopback(host))
        refuse(key, "on is allowed on loopback addresses only, which " +
                        (host.empty() ? "an empty host" : host) + " isn't");
  }

  void check_ingress(const char* key, const std::optional<Address>& address) {
    if (!address) return;
    for (const Address& other : {config_.listen, config_.metrics_listen})
      if (address->port != 0 && address->port == other.port)
        refuse(key, address->text() + " has the port of another listener of berthd");
    if (!config_.production && !is_loopback(address->host) && !config_.allow_remote)
      refuse(key, (address->host.empty() ? "an empty host" : address->host) +
                      " isn't a loopback address; development accepts that only with "
                      "allow-remote=on");
  }

  void check_database(const db::postgres::Server& server) {
    const db::postgres::AddressParts address = db::postgres::parse_address(server.address);
    if (server.password_file && address.has_password)
      refuse("database-password-file", "the address in database has a password, too");
    if (!config_.production || address.tls == "verify-full") return;
    if (address.hosts.empty())
      refuse("database",
             "production requires a host in the address; a Unix socket is named by its directory, "
             "as in postgresql://berth@/berth?host=/run/postgresql");
    for (const std::string& host : address.hosts)
      if (!db::postgres::is_on_this_machine(host))
        refuse("database",
               "production requires sslmode=verify-full in the address, because any other mode "
               "sends the password and all data to whoever answers for " +
                   host + "; only a Unix socket and a loopback address need no TLS");
  }

  void check_production() {
    if (config_.kubernetes == Cluster::simulated)
      refuse("kubernetes", "production can't use the simulated cluster");
    if (!config_.rate_limits) refuse("rate-limits", "off is allowed in development only");
    if (config_.webhook_allow_private)
      refuse("webhook-allow-private", "on is allowed in development only");
    check_secret();
    if (config_.base_url)
      check_base_url(*config_.base_url);
    else
      refuse("base-url", "required in production");
  }

  void check_secret() {
    if (!config_.internal_secret)
      refuse("internal-secret", "required in production; set internal-secret-file");
    else if (!is_strong_secret(*config_.internal_secret))
      refuse("internal-secret",
             "production requires at least 128 random bits, which are 32 hexadecimal or 22 base64 "
             "characters; `openssl rand -hex 32` makes such a secret");
    for (const internal_secrets::Configured& one : config_.internal_secrets)
      if (!is_strong_secret(one.secret))
        refuse("internal-secrets",
               "the secret " + one.name +
                   ": production requires at least 128 random bits, which are 32 hexadecimal or 22 "
                   "base64 characters; `openssl rand -hex 32` makes such a secret");
  }

  void check_base_url(const std::string& base_url) {
    const std::string host = parse_url(base_url).value().host;
    // Passwords, session cookies and tokens are sent to this address.
    if (base_url.starts_with("http://") && !is_loopback(host))
      refuse("base-url",
             "'" + base_url +
                 "' is plain http; production requires https, or http to this machine "
                 "(localhost, 127.0.0.1, [::1]). Behind a proxy that ends TLS, base-url is the URL "
                 "that the proxy serves");
    // The two domains must not share cookies, so that tenants can't set cookies for the platform.
    const std::string ours = domain_names::registered(host);
    if (ours == domain_names::registered(config_.apps_domain))
      refuse("apps-domain", config_.apps_domain + " and base-url share the domain " + ours +
                                "; production needs two different domains");
  }

  const Config& config_;
  Settings& settings_;
};

}  // namespace

ConfigError::ConfigError(std::vector<std::string> all)
    : std::runtime_error(joined(all, "\n")), problems(std::move(all)) {}

std::string Address::text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(port);
}

Address ingress_http_address(const Config& config) {
  constexpr int for_visitors = 80;
  constexpr int for_development = 8000;
  return config.ingress_http.value_or(config.production
                                          ? Address{.host = "", .port = for_visitors}
                                          : Address{.host = "127.0.0.1", .port = for_development});
}

std::optional<Address> ingress_https_address(const Config& config) {
  constexpr int for_visitors = 443;
  if (!config.base_url || !config.base_url->starts_with("https://")) return std::nullopt;
  return config.ingress_https.value_or(Address{.host = "", .port = for_visitors});
}

std::filesystem::path local_directory(const Config& config) { return config.data_dir / "local"; }

std::vector<std::string> flag_names() {
  std::vector<std::string> names;
  for (const Key& key : config_keys()) {
    names.emplace_back(key.name);
    names.push_back(std::string(key.name) + "-file");
  }
  return names;
}

Environment process_environment() {
  Environment result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (line.starts_with(variable_prefix) && equals != std::string_view::npos)
      result.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return result;
}

LoadedConfig load_config(const std::map<std::string, std::string>& flags,
                         const Environment& environment) {
  Settings settings;
  const auto variable = environment.find(std::string(config_variable));
  if (const auto flag = flags.find("config"); flag != flags.end())
    settings.read_yaml(flag->second);
  else if (variable != environment.end())
    settings.read_yaml(variable->second);
  settings.read_environment(environment);
  for (const auto& [name, text] : flags)
    if (name != "config") settings.set(name, text, "--" + name);

  LoadedConfig result;
  for (const Key& key : config_keys()) {
    const Value& value = settings.value_of(key);
    take(key, value, result.config, settings);
    if (key.effect == Key::Effect::none_yet && value.text != key.fallback)
      result.config.without_effect.emplace_back(key.name);
    result.settings.push_back(
        {std::string(key.name), shown(key, value.text), value.source, std::string(key.meaning)});
  }
  WholeCheck(result.config, settings).run();
  if (result.config.production) refuse_secrets_in_flags(result.config, flags, settings);
  if (!settings.problems().empty()) throw ConfigError(settings.problems());
  return result;
}

}  // namespace berth
