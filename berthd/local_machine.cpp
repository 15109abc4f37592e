#include "berthd/local_machine.h"

#include <limits>

#include "berthd/exit_codes.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/program_image.h"
#include "reconcilers/embedded/node/podman/runtime.h"
#include "reconcilers/registry/image_size.h"

namespace berth {
namespace {

// What the sealed objects of the cluster are bound to.
constexpr std::string_view seal_context = "local/cluster.db";
constexpr std::size_t token_bytes = 32;

embedded::IngressAddress address_of(const Address& address) {
  return {.host = address.host, .port = address.port};
}

embedded::IngressOptions ingress_options(const Config& config) {
  embedded::IngressOptions options{.directory = local_directory(config) / "caddy"};
  options.http = address_of(ingress_http_address(config));
  if (const auto https = ingress_https_address(config)) options.https = address_of(*https);
  options.acme_directory = config.acme_directory;
  options.acme_ca_file = config.acme_ca_file;
  return options;
}

// The words of a registry that was asked for the image's manifest, and nothing else.
bool is_limited(const std::string& image, const embedded::RegistryLogin* login) {
  std::optional<registry::Credentials> credentials;
  if (login != nullptr) credentials = {login->username, login->password};
  registry::KnownSizes none;
  try {
    registry::image_size(registry::parse_image_name(image), credentials, 0, none, {});
  } catch (const registry::Unanswered& unanswered) {
    return unanswered.limited;
  } catch (const std::exception&) {
    // It answered.
  }
  return false;
}

embedded::podman::RuntimeOptions podman_options(const Config& config,
                                                const embedded::CaddySettings& serving) {
  embedded::podman::RuntimeOptions options{.directory = local_directory(config),
                                           .public_ports = {serving.http.port},
                                           .is_limited = is_limited};
  if (serving.https) options.public_ports.push_back(serving.https->port);
  return options;
}

// Nothing takes longer than it does; only what the controllers wait for by themselves is left.
embedded::Timing as_it_is() {
  using namespace std::chrono_literals;
  return {.schedule = 0ms, .pull = 0ms, .start = 0ms, .probe = 0ms, .stop = 0ms};
}

embedded::Options cluster_options(const Config& config, const Storage& storage,
                                  const std::string& token,
                                  const embedded::CaddySettings& serving) {
  embedded::Options options;
  options.timing = as_it_is();
  options.remembers = false;
  options.token = token;
  options.runtime = [podman = podman_options(config, serving)](embedded::Runtime::Wake wake) {
    return embedded::podman::make_runtime(podman, std::move(wake));
  };
  const std::string key = storage.keys.data;
  options.disk = {
      .file = local_directory(config) / "cluster.db",
      .seal = [key](const std::string& plain) { return seal(key, plain, seal_context); },
      .open = [key](const std::string& sealed) { return open_sealed(key, sealed, seal_context); }};
  return options;
}

template <typename Work>
auto or_say_why(Work&& work) {
  try {
    return work();
  } catch (const embedded::Unusable& unusable) {
    throw StartError(exit_cluster_access,
                     "kubernetes is local, but " + words_of(unusable.finding()));
  }
}

}  // namespace

std::string words_of(const embedded::Finding& finding) {
  return finding.help.empty() ? finding.what : finding.what + " " + finding.help;
}

LocalMachine::LocalMachine(const Config& config, Storage& storage)
    : config_(config),
      lock_(local_directory(config)),
      token_(hex(random_bytes(token_bytes))),
      ingress_(or_say_why([&] { return embedded::Ingress(ingress_options(config)); })),
      cluster_(or_say_why([&] {
        return std::make_unique<embedded::Cluster>(
            cluster_options(config, storage, token_, ingress_.settings()));
      })) {
  write_kubeconfig(storage.data);
  log::info("this machine is the cluster, with podman and Caddy",
            {{"url", cluster_->url()}, {"user_namespaces", "one for each container"}});
  for (const std::string& finding : findings())
    log::warning("this machine can't do all that it should", {{"finding", finding}});
}

LocalMachine::~LocalMachine() { stop_serving(); }

// For an admin who wants to look at the cluster with kubectl. Only berthd's user may read it.
void LocalMachine::write_kubeconfig(const DataDir& data) const {
  const auto named = [](const char* key, const embedded::Json& what) {
    return embedded::Json::array({{{"name", "local"}, {key, what}}});
  };
  const embedded::Json kubeconfig{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "local"},
      {"clusters", named("cluster", {{"server", cluster_->url()}})},
      {"users", named("user", {{"token", token_}})},
      {"contexts", named("context", {{"cluster", "local"}, {"user", "local"}})}};
  data.write("local/kubeconfig", kubeconfig.dump(2) + "\n");
}

void LocalMachine::serve() {
  // The URL must not change from start to start, because a new one is a new configuration, for
  // which Caddy closes connections. So it isn't that of `listen`, whose port may be another each
  // time.
  embedded::ConsoleAddress console{.hosts = {"localhost", "127.0.0.1"}, .url = url_of("localhost")};
  if (config_.base_url) {
    console.url = *config_.base_url;
    if (const auto url = parse_url(*config_.base_url)) console.hosts = {url->host};
  }
  or_say_why([&] { cluster_->serve_with(ingress_, console); });
}

void LocalMachine::stop_serving() { ingress_.stop(); }

std::string LocalMachine::url_of(const std::string& host) const {
  const embedded::CaddySettings& serving = ingress_.settings();
  const std::string scheme = serving.https ? "https" : "http";
  const int port = serving.https ? serving.https->port : serving.http.port;
  const bool usual = port == port_of_scheme(scheme);
  return scheme + "://" + host + (usual ? "" : ":" + std::to_string(port));
}

std::string LocalMachine::program_image() const {
  return embedded::podman::program_image({.directory = local_directory(config_)});
}

reconcilers::TrafficOfServices LocalMachine::traffic() const {
  reconcilers::TrafficOfServices all;
  for (const auto& [place, counted] : ingress_.traffic()) {
    const auto& [name_space, service, port] = place;
    reconcilers::Traffic& traffic = all[reconcilers::traefik_service(name_space, service, port)];
    traffic.by_class = counted.by_class;
    traffic.seconds = counted.seconds;
    std::int64_t sum = 0;
    for (std::size_t range = 0; range < counted.within.size(); ++range) {
      sum += counted.within.at(range);
      const bool is_last = range == embedded::HostTraffic::bounds.size();
      traffic.within[is_last ? std::numeric_limits<double>::infinity()
                             : embedded::HostTraffic::bounds.at(range)] = sum;
    }
  }
  return all;
}

std::map<std::string, std::int64_t, std::less<>> LocalMachine::long_requests() const {
  std::map<std::string, std::int64_t, std::less<>> all;
  for (const auto& [place, count] : ingress_.requests_since(reconcilers::long_request)) {
    const auto& [name_space, service, port] = place;
    all[reconcilers::traefik_service(name_space, service, port)] += count;
  }
  return all;
}

std::vector<std::string> LocalMachine::findings() const {
  std::vector<std::string> sentences;
  for (const embedded::Finding& finding : cluster_->findings())
    sentences.push_back(words_of(finding));
  return sentences;
}

}  // namespace berth
