#include "reconcilers/embedded/cluster.h"

#include <mutex>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "reconcilers/embedded/apiserver/http_server.h"
#include "reconcilers/embedded/apiserver/rest.h"
#include "reconcilers/embedded/controllers/controllers.h"
#include "reconcilers/embedded/ingress/ingress.h"
#include "reconcilers/embedded/node/page.h"
#include "reconcilers/embedded/node/simulated/runtime.h"

namespace berth::embedded {
namespace {

std::string kibibytes(std::uint64_t bytes) { return std::to_string(bytes / 1024) + "Ki"; }

Json node_object(const NodeInfo& info) {
  const std::int64_t cores = info.cpu_millicores / 1000;
  Json capacity{
      {"cpu", info.cpu_millicores % 1000 == 0 ? std::to_string(cores)
                                              : std::to_string(info.cpu_millicores) + "m"},
      {"memory", kibibytes(info.memory_bytes)},
      {"pods", std::to_string(info.pods)}};
  if (info.disk_bytes > 0) capacity["ephemeral-storage"] = kibibytes(info.disk_bytes);
  Json ready{{"type", "Ready"},
             {"status", "True"},
             {"reason", "KubeletReady"},
             {"message", "kubelet is posting ready status"},
             {"lastHeartbeatTime", timestamp()},
             {"lastTransitionTime", timestamp()}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", info.name}, {"labels", {{"kubernetes.io/hostname", info.name}}}}},
          {"spec", Json::object()},
          {"status",
           {{"capacity", capacity},
            {"allocatable", capacity},
            {"conditions", {std::move(ready)}},
            {"addresses", {{{"type", "InternalIP"}, {"address", info.address}}}},
            {"nodeInfo",
             {{"kubeletVersion", info.kubelet_version},
              {"kernelVersion", info.kernel_version},
              {"containerRuntimeVersion", info.runtime_version}}}}}};
}

Json name_space(const char* name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

const Type& known_type(const Json& object) {
  if (const Type* type = type_of_object(object)) return *type;
  throw no_such_resource();
}

// There is one node, whose name may be another than that of the last start.
void put_node(Store& store, Registry& registry, const NodeInfo& info) {
  for (const auto& [key, stored] : store.list_stored(Kind::nodes, ""))
    if (key.name != info.name) store.erase(key);
  const Key key{Kind::nodes, "", info.name};
  Json node = node_object(info);
  const ObjectPtr live = store.find(key);
  if (!live) {
    registry.create(type_of(Kind::nodes), "", std::move(node), {{"kubelet"}});
    return;
  }
  Json next = *live;
  next["status"] = std::move(node["status"]);
  registry.write_status(key, std::move(next), "kubelet");
}

// The object as clients see it.
Json seen(const Json& tree) { return Json::parse(text_of(tree)); }

}  // namespace

struct Cluster::State {
  explicit State(const Options& options)
      : disk(options.disk ? std::make_unique<Disk>(*options.disk) : nullptr),
        registry(loaded_store(), options.seed),
        faults(options.remembers),
        timing(options.timing),
        controllers(store, registry, tokens, factory(options), options.timing, options.remembers),
        rest(store, registry, controllers.kubelet(), tokens, faults, options.bookmark_interval,
             options.token),
        http([this](const api::Request& request, api::Response& response) {
          rest.handle(request, response);
        }) {}

  // Sets `simulated` if nothing else is wanted.
  RuntimeFactory factory(const Options& options) {
    if (options.runtime) return options.runtime;
    return [this](const Runtime::Wake&) {
      auto made = std::make_unique<SimulatedRuntime>(images, timing);
      simulated = made.get();
      return made;
    };
  }

  Store& loaded_store() {
    if (disk) store.keep_on(*disk);
    return store;
  }

  const std::unique_ptr<Disk> disk;  // null: the objects are in memory only
  Store store;
  Registry registry;
  const PodTokens tokens;
  Images images;
  Faults faults;
  const Timing timing;
  SimulatedRuntime* simulated = nullptr;  // null if containers run
  Controllers controllers;
  Rest rest;
  HttpServer http;
  std::mutex up_and_down;
};

Cluster::Cluster(Options options) : state_(std::make_unique<State>(options)) {
  {
    const Lock lock(state_->store.mutex());
    put_node(state_->store, state_->registry, state_->controllers.kubelet().runtime().node());
    const Request by_server{{"kube-apiserver"}};
    for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
      if (!state_->store.contains({Kind::namespaces, "", name}))
        state_->registry.create(type_of(Kind::namespaces), "", name_space(name), by_server);
  }
  if (state_->simulated != nullptr)
    log::info("the Kubernetes cluster is simulated: no container runs", {{"url", url()}});
}

Cluster::~Cluster() {
  state_->faults.interrupt();
  state_->store.stop();
  state_->http.down();
}

std::vector<Finding> Cluster::findings() const {
  return state_->controllers.kubelet().runtime().findings();
}

void Cluster::serve_with(Ingress& ingress, const ConsoleAddress& console) {
  ingress.start(
      state_->store,
      [this](const Json& pod, int port) {
        return state_->controllers.kubelet().address(pod, port);
      },
      console);
  const Lock lock(state_->store.mutex());
  state_->store.observe([&ingress](const Key& key) { ingress.changed(key); });
  state_->controllers.certificates().report(
      [&ingress](const std::string& host, const std::string& order) {
        return ingress.certificate(host, order);
      });
  ingress.look_at_all();
}

std::string Cluster::url() const { return "http://127.0.0.1:" + std::to_string(port()); }
int Cluster::port() const { return state_->http.port(); }

void Cluster::fail_next(int times, int status, std::optional<int> retry_after, Match match) {
  state_->faults.add({times, status, retry_after, std::move(match)});
}

void Cluster::clear_failures() { state_->faults.clear(); }
void Cluster::answer_logs_with(const std::string& words) { state_->faults.set_log_words(words); }
void Cluster::set_in_flight(std::optional<std::map<std::string, double>> requests) {
  state_->faults.set_in_flight(std::move(requests));
}
std::optional<std::map<std::string, double>> Cluster::in_flight() const {
  return state_->faults.in_flight();
}
void Cluster::set_latency(std::chrono::milliseconds latency) {
  state_->faults.set_latency(latency);
}
void Cluster::stop_answering() { state_->faults.set_hanging(true); }
void Cluster::answer_again() { state_->faults.set_hanging(false); }

void Cluster::drop_watches() {
  const Lock lock(state_->store.mutex());
  state_->store.drop_watches();
}

void Cluster::compact() {
  const Lock lock(state_->store.mutex());
  state_->store.compact();
  state_->rest.forget_pages();
}

void Cluster::go_down() {
  const std::lock_guard lock(state_->up_and_down);
  state_->faults.interrupt();
  drop_watches();
  state_->http.down();
}

void Cluster::come_back() {
  const std::lock_guard lock(state_->up_and_down);
  state_->faults.resume();
  state_->http.up();
}

void Cluster::pause_controllers() {
  const Lock lock(state_->store.mutex());
  state_->controllers.pause(true);
}

void Cluster::resume_controllers() {
  const Lock lock(state_->store.mutex());
  state_->controllers.pause(false);
}

void Cluster::slow_down(int factor) {
  const Lock lock(state_->store.mutex());
  const Timing timing = state_->timing.slowed(factor);
  state_->controllers.set_timing(timing);
  if (state_->simulated != nullptr) state_->simulated->set_timing(timing);
}

void Cluster::set_image(const std::string& image, ImageBehaviour behaviour) {
  const Lock lock(state_->store.mutex());
  state_->images.set(image, behaviour);
}

void Cluster::refuse_certificates(const std::string& why) {
  const Lock lock(state_->store.mutex());
  state_->controllers.certificates().refuse(why);
}

std::vector<std::string> Cluster::certificate_orders() const {
  const Lock lock(state_->store.mutex());
  return state_->controllers.certificates().orders();
}

std::vector<Recorded> Cluster::requests() const { return state_->faults.recorded(); }

std::vector<Recorded> Cluster::writes() const {
  auto all = requests();
  std::erase_if(all, [](const Recorded& one) { return !one.writes(); });
  return all;
}

size_t Cluster::count(const std::string& verb, const std::string& plural) const {
  size_t number = 0;
  for (const Recorded& one : requests())
    if ((verb.empty() || one.verb == verb) && (plural.empty() || one.plural == plural)) ++number;
  return number;
}

size_t Cluster::write_count() const { return writes().size(); }
void Cluster::forget_requests() { state_->faults.forget_recorded(); }

std::optional<Json> Cluster::get(const std::string& plural, const std::string& name_space,
                                 const std::string& name) const {
  const Type& type = type_named(plural);
  const Lock lock(state_->store.mutex());
  const ObjectPtr found = state_->store.find({type.id, type.namespaced() ? name_space : "", name});
  if (!found) return std::nullopt;
  return seen(*found);
}

std::vector<Json> Cluster::list(const std::string& plural, const std::string& name_space,
                                const std::string& label_selector) const {
  const Type& type = type_named(plural);
  const Selector selector(type, label_selector, "");
  std::vector<std::pair<Key, StoredPtr>> all;
  {
    const Lock lock(state_->store.mutex());
    all = state_->store.list_stored(type.id, name_space);
  }
  std::vector<Json> found;
  for (const auto& [key, object] : all)
    if (selector.matches(*object)) found.push_back(Json::parse(text_of(type, *object)));
  return found;
}

Json Cluster::put(const Json& object, const std::string& manager) {
  const Type& type = known_type(object);
  const Lock lock(state_->store.mutex());
  const std::string home = namespace_of(object);
  const bool known =
      state_->store.find({type.id, type.namespaced() ? home : "", name_of(object)}) != nullptr;
  if (!known) return seen(*state_->registry.create(type, home, object, {{manager}}));
  Json next = object;
  const ObjectPtr live = state_->registry.get(type, home, name_of(object));
  next["metadata"]["resourceVersion"] = at_path(*live, "/metadata/resourceVersion");
  return seen(*state_->registry.update(type, home, name_of(object), std::move(next), {{manager}}));
}

Json Cluster::apply(const Json& object, const std::string& manager) {
  const Type& type = known_type(object);
  const Lock lock(state_->store.mutex());
  return seen(
      *state_->registry
           .apply(type, namespace_of(object), name_of(object), object, {{manager}}, Force::yes)
           .object);
}

Json Cluster::patch(const std::string& plural, const std::string& name_space,
                    const std::string& name, const Json& merge, const std::string& manager) {
  const Lock lock(state_->store.mutex());
  return seen(
      *state_->registry.merge_patch(type_named(plural), name_space, name, merge, {{manager}}));
}

Json Cluster::patch_status(const std::string& plural, const std::string& name_space,
                           const std::string& name, const Json& merge, const std::string& manager) {
  const Lock lock(state_->store.mutex());
  return seen(*state_->registry.merge_patch(type_named(plural), name_space, name,
                                            {{"status", merge}}, {{manager, Subresource::status}}));
}

bool Cluster::remove(const std::string& plural, const std::string& name_space,
                     const std::string& name) {
  const Type& type = type_named(plural);
  const Lock lock(state_->store.mutex());
  if (!state_->store.find({type.id, type.namespaced() ? name_space : "", name})) return false;
  state_->registry.remove(type, name_space, name, {});
  return true;
}

void Cluster::set_quota(const std::string& name_space, const Json& hard, const std::string& name) {
  put({{"apiVersion", "v1"},
       {"kind", "ResourceQuota"},
       {"metadata", {{"name", name}, {"namespace", name_space}}},
       {"spec", {{"hard", hard}}}});
}

std::uint64_t Cluster::version() const {
  const Lock lock(state_->store.mutex());
  return state_->store.version();
}

std::unique_ptr<RunSession> Cluster::open_session(const std::string& name_space,
                                                  const std::string& pod,
                                                  const std::string& container,
                                                  const SessionRequest& request) {
  Runtime::Opening open;
  {
    const Lock lock(state_->store.mutex());
    const Kubelet& kubelet = state_->controllers.kubelet();
    const ObjectPtr found = state_->store.find({Kind::pods, name_space, pod});
    const auto run = found ? kubelet.running_run(*found, container) : std::nullopt;
    if (!run) throw Error(Code::invalid_state, "the container doesn't run any more");
    open = kubelet.runtime().open(*run, request);
  }
  return open();
}

std::vector<TokenFile> Cluster::tokens_of(const std::string& name_space,
                                          const std::string& pod) const {
  const Lock lock(state_->store.mutex());
  const ObjectPtr found = state_->store.find({Kind::pods, name_space, pod});
  if (!found || state_->simulated == nullptr) return {};
  return state_->simulated->tokens_of(uid_of(*found));
}

Page Cluster::page(const std::string& host) const {
  const Lock lock(state_->store.mutex());
  return page_of(state_->store, host);
}

}  // namespace berth::embedded
