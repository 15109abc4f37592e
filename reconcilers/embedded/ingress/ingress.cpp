#include "reconcilers/embedded/ingress/ingress.h"

#include <netinet/in.h>

#include <algorithm>
#include <fstream>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/url.h"
#include "controller/transport/socket.h"
#include "reconcilers/embedded/ingress/open_connections.h"
#include "reconcilers/embedded/node/finding.h"

namespace berth::embedded {
namespace {

constexpr const char* state_name = "state.json";
// How soon a route is looked at again whose container the node doesn't know yet.
constexpr std::chrono::milliseconds unsettled_interval{100};
// How long after the start routes that no Ingress has are kept. After a restart, the objects may
// have to be made from the database first.
constexpr std::chrono::seconds strangers_kept{30};

// What has to stay the same as long as Caddy runs.
struct State {
  std::string secret;
  int log_port = 0;
  int http_port = 0;
  int https_port = 0;
};

State read_state(const std::filesystem::path& directory) {
  std::ifstream file(directory / state_name);
  const Json read = Json::parse(file, nullptr, false);
  State state;
  state.secret = read.is_object() ? text_at(read, "secret") : "";
  if (state.secret.empty()) state.secret = random_token("");
  const auto port = [&](const char* pointer) {
    const auto number = read.is_object() ? number_at(read, pointer, 0) : 0;
    return number > 0 && number < 65'536 ? int(number) : 0;
  };
  state.log_port = port("/log_port");
  state.http_port = port("/http_port");
  state.https_port = port("/https_port");
  return state;
}

void write_state(const std::filesystem::path& directory, const State& state) {
  const auto path = directory / state_name;
  const auto fresh = directory / (std::string(state_name) + ".new");
  {
    std::ofstream file(fresh, std::ios::trunc);
    std::filesystem::permissions(
        fresh, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    file << Json{{"secret", state.secret},
                 {"log_port", state.log_port},
                 {"http_port", state.http_port},
                 {"https_port", state.https_port}}
                .dump()
         << "\n";
    if (!file.flush()) throw Unusable({"berthd can't write " + path.string() + ".", ""});
  }
  std::filesystem::rename(fresh, path);
}

std::filesystem::path fit(const std::filesystem::path& directory) {
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(directory));
  if (path.string().find_first_of(unfit_for_paths) != std::string::npos)
    throw Unusable({"the path " + path.string() + " contains one of " + unfit_for_paths +
                        ", which Caddy takes for patterns.",
                    "berthd --data-dir=DIRECTORY, with another name"});
  return path;
}

// Takes the port that was used before, or a free one.
void choose(IngressAddress& address, int before) {
  if (address.port != 0) return;
  address.port = before != 0
                     ? before
                     : api::listen_on(address.host.empty() ? "127.0.0.1" : address.host, 0).port;
}

bool listens_on(const Json& configuration, const IngressAddress& address) {
  for (const Json& server : at_path(configuration, "/apps/http/servers"))
    for (const Json& listen : at_path(server, "/listen"))
      if (listen == address.text()) return true;
  return false;
}

void add(HostTraffic& sum, const HostTraffic& more) {
  for (size_t i = 0; i < sum.by_class.size(); ++i) sum.by_class.at(i) += more.by_class.at(i);
  for (size_t i = 0; i < sum.within.size(); ++i) sum.within.at(i) += more.within.at(i);
  sum.seconds += more.seconds;
}

}  // namespace

Ingress::Ingress(IngressOptions options)
    : options_(std::move(options)), files_(fit(options_.directory)) {
  check_caddy(options_.program);
  settings_.directory = fit(options_.directory);
  State state = read_state(settings_.directory);
  settings_.http = options_.http;
  settings_.https = options_.https;
  choose(settings_.http, state.http_port);
  if (settings_.https) choose(*settings_.https, state.https_port);
  // What a Caddy of ours listens on already needn't be free.
  const Json present = Caddy::configuration(settings_.admin_socket());
  if (!listens_on(present, settings_.http)) check_ingress_address(settings_.http, "ingress-http");
  if (settings_.https && !listens_on(present, *settings_.https))
    check_ingress_address(*settings_.https, "ingress-https");
  settings_.acme_directory = options_.acme_directory;
  settings_.acme_ca_file = options_.acme_ca_file;
  settings_.secret = state.secret;
  if (settings_.https)
    certificates_ = std::make_unique<ServedCertificates>(handshake_with(settings_.https->local()));
  log_ = std::make_unique<AccessLog>(state.log_port, state.secret,
                                     [this](const std::string& host, const std::string& why) {
                                       if (certificates_) certificates_->failed(host, why);
                                     });
  settings_.log_port = log_->port();
  write_state(settings_.directory, {.secret = state.secret,
                                    .log_port = settings_.log_port,
                                    .http_port = settings_.http.port,
                                    .https_port = settings_.https ? settings_.https->port : 0});
}

Ingress::~Ingress() {
  stop();
  log_.reset();  // it calls certificates_
}

void Ingress::start(Store& store, AddressOf address_of, const ConsoleAddress& console) {
  store_ = &store;
  address_of_ = std::move(address_of);
  settings_.console_hosts = console.hosts;
  settings_.console_url = console.url;
  questions_ = std::make_unique<api::Server>(
      api::ServerOptions{.host = std::string(api::unix_prefix) + settings_.ask_socket(),
                         .connections = {.of_network = 0}},
      [this](const api::Request& request, api::Response& response) { answer(request, response); });
  questions_->bind();
  questions_thread_ = std::jthread([this] { questions_->run(); });
  if (certificates_) {
    certificates_->always({console.hosts.begin(), console.hosts.end()});
    for (const std::string& host : console.hosts) files_.set_secure(host, true);
  }
  // From the routes that an earlier process has left, Caddy can serve at once.
  caddy_ =
      std::make_unique<Caddy>(Caddy::Options{.program = options_.program, .settings = settings_});
  // The console's own certificate is ordered before the first visitor comes.
  if (certificates_)
    for (const std::string& host : console.hosts) certificates_->of(host, "console");
  {
    const std::lock_guard lock(mutex_);
    follows_ = true;
    looks_at_all_ = true;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Ingress::stop() {
  {
    const std::lock_guard lock(mutex_);
    follows_ = false;
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  caddy_.reset();
  if (questions_) {
    questions_->shutdown(std::chrono::seconds(0));
    if (questions_thread_.joinable()) questions_thread_.join();
    questions_.reset();
  }
}

void Ingress::changed(const Key& key) {
  if (key.kind != Kind::pods && key.kind != Kind::ingresses && key.kind != Kind::services &&
      key.kind != Kind::certificates)
    return;
  const std::lock_guard lock(mutex_);
  if (!follows_) return;
  dirty_.insert(key.name_space);
  changed_.notify_one();
}

void Ingress::look_at_all() {
  const std::lock_guard lock(mutex_);
  looks_at_all_ = follows_;
  changed_.notify_one();
}

void Ingress::run(const std::stop_token& stop) {
  const auto strangers_go = SteadyClock::now() + strangers_kept;
  bool strangers_gone = false;
  std::set<std::string> again;  // namespaces
  while (!stop.stop_requested()) {
    const std::set<std::string> todo = next_work(
        stop, again.empty() ? (strangers_gone ? std::nullopt : std::optional(strangers_go))
                            : std::optional(SteadyClock::now() + unsettled_interval));
    std::set<std::string> all = std::exchange(again, {});
    all.insert(todo.begin(), todo.end());
    for (const std::string& name_space : all) {
      if (stop.stop_requested()) return;
      if (!apply(name_space)) again.insert(name_space);
    }
    if (!strangers_gone && SteadyClock::now() >= strangers_go) {
      remove_strangers();
      strangers_gone = true;
    }
  }
}

// Waits for changes, until `until` at most. Returns the namespaces that have changed.
std::set<std::string> Ingress::next_work(const std::stop_token& stop,
                                         std::optional<SteadyClock::time_point> until) {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return looks_at_all_ || !dirty_.empty(); };
  if (until)
    changed_.wait_until(lock, stop, *until, has_work);
  else
    changed_.wait(lock, stop, has_work);
  std::set<std::string> changed = std::exchange(dirty_, {});
  const bool looks_at_all = std::exchange(looks_at_all_, false);
  lock.unlock();
  if (looks_at_all) changed.merge(all_namespaces());
  return changed;
}

// All namespaces that have something to serve, or had.
std::set<std::string> Ingress::all_namespaces() const {
  std::set<std::string> all;
  {
    const Lock of_store(store_->mutex());
    for (const Kind kind : {Kind::ingresses, Kind::certificates})
      for (const auto& [key, stored] : store_->list_stored(kind, "")) all.insert(key.name_space);
  }
  const std::lock_guard lock(served_mutex_);
  for (const auto& [host, known] : hosts_) all.insert(known.name_space);
  return all;
}

// Returns false if the namespace has to be looked at again soon.
bool Ingress::apply(const std::string& name_space) {
  Routes routes;
  std::map<std::string, std::string> certified;
  {
    const Lock of_store(store_->mutex());
    routes = routes_of(*store_, name_space, address_of_);
    certified = certified_hosts(*store_, name_space);
  }
  const std::lock_guard lock(served_mutex_);
  apply_certified(name_space, certified);
  try {
    std::vector<std::string> gone;
    for (const auto& [host, known] : hosts_)
      if (known.name_space == name_space && !routes.contains(host)) gone.push_back(host);
    for (const std::string& host : gone) drop_host(host);
    for (const auto& [host, route] : routes) apply_host(name_space, host, route);
  } catch (const std::exception& failure) {
    log::error("routes can't be written", {{"namespace", name_space}, {"error", failure.what()}});
    return false;
  }
  return std::ranges::none_of(routes, [](const auto& entry) { return entry.second.is_unsettled; });
}

// Hosts whose Certificate is gone get no certificate any more.
void Ingress::apply_certified(const std::string& name_space,
                              const std::map<std::string, std::string>& hosts) {
  std::set<std::string> now;
  for (const auto& [host, uid] : hosts) now.insert(host);
  const std::set<std::string> before = std::exchange(certified_[name_space], now);
  for (const std::string& host : before)
    if (!now.contains(host) && certificates_) certificates_->forget(host);
  if (now.empty()) certified_.erase(name_space);
}

// If another namespace has the host, this one waits for it.
void Ingress::apply_host(const std::string& name_space, const std::string& host,
                         const Route& route) {
  const auto [found, is_new] = hosts_.try_emplace(host, Known{name_space, {}});
  if (found->second.name_space != name_space) {
    waiting_[host].insert(name_space);
    return;
  }
  if (is_new) log_->add(host);
  // What an earlier process has written stays until the node knows its containers.
  const bool stays = route.is_unsettled && route.upstreams.empty() && files_.has(host);
  if (!stays && (is_new || found->second.route.upstreams != route.upstreams))
    files_.set(host, route.upstreams);
  found->second.route = route;
}

void Ingress::drop_host(const std::string& host) {
  files_.remove(host);
  secured_.erase(host);
  log_->remove(host);
  hosts_.erase(host);
  const auto waiting = waiting_.find(host);
  if (waiting == waiting_.end()) return;
  const std::lock_guard lock(mutex_);
  dirty_.merge(waiting->second);
  waiting_.erase(waiting);
}

void Ingress::remove_strangers() {
  const std::lock_guard lock(served_mutex_);
  for (const std::string& host : files_.hosts())
    if (!hosts_.contains(host)) files_.remove(host);
}

ServedCertificate Ingress::certificate(const std::string& host, const std::string& order) {
  if (!certificates_)
    return {.stage = ServedCertificate::Stage::failed,
            .reason = "nothing is served over https, because base-url isn't an https URL"};
  const ServedCertificate found = certificates_->of(host, order);
  if (found.stage != ServedCertificate::Stage::served) return found;
  // Visitors who ask by plain http are sent to https as soon as there is a certificate.
  const std::lock_guard lock(served_mutex_);
  if (hosts_.contains(host) && secured_.insert(host).second) files_.set_secure(host, true);
  return found;
}

std::map<Ingress::ServicePort, std::int64_t> Ingress::requests_since(
    std::chrono::milliseconds time) const {
  std::map<std::string, ServicePort> ports;  // by address; several hosts may lead to one
  {
    const std::lock_guard lock(served_mutex_);
    for (const auto& [host, known] : hosts_)
      for (const std::string& address : known.route.upstreams)
        ports[address] = {known.name_space, known.route.service, known.route.port};
  }
  std::set<std::string> addresses;
  for (const auto& [address, port] : ports) addresses.insert(address);
  std::map<ServicePort, std::int64_t> requests;
  for (const auto& [address, count] : open_connections(addresses, time))
    requests[ports.at(address)] += count;
  return requests;
}

std::map<Ingress::ServicePort, HostTraffic> Ingress::traffic() const {
  std::map<ServicePort, HostTraffic> all;
  const auto by_host = log_->all();
  const std::lock_guard lock(served_mutex_);
  for (const auto& [host, known] : hosts_) {
    const auto counted = by_host.find(host);
    if (counted == by_host.end()) continue;
    add(all[{known.name_space, known.route.service, known.route.port}], counted->second);
  }
  return all;
}

int Ingress::restarts() const { return caddy_ ? caddy_->restarts() : 0; }

// Caddy's questions, and requests for a host in capital letters.
void Ingress::answer(const api::Request& request, api::Response& response) {
  response.content_type = "text/plain; charset=utf-8";
  if (request.path == "/" + settings_.secret + ask_path) {
    const auto host = request.query.find("domain");
    const bool may = host != request.query.end() && certificates_ &&
                     certificates_->may_have(lower_case(host->second));
    response.status = may ? 200 : 403;
    return;
  }
  const std::string host = lower_case(request.host);
  const bool is_plain = is_host_name(host.substr(0, host.find(':')));
  response.status = is_plain ? 308 : 404;
  if (!is_plain) return;
  const bool is_https = request.headers.get("X-Forwarded-Proto") == "https";
  std::string target = (is_https ? "https://" : "http://") + host + std::string(request.path);
  if (!request.raw_query.empty()) target += "?" + std::string(request.raw_query);
  response.add_header("Location", target);
}

}  // namespace berth::embedded
