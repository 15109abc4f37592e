#include "reconcilers/cluster/isolation_probe.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "controller/domain/deployments/tiers.h"
#include "reconcilers/cluster/isolation_pod.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

using isolation::Mode;
using isolation::Report;

constexpr const char* instance_suffix = "-isolation";
constexpr const char* system_namespace = "kube-system";
constexpr int container_memory_mb = 128;
constexpr int container_cpu_millicores = 100;
constexpr size_t nonce_bytes = 16;
constexpr int log_lines = 20;
constexpr size_t max_line = 64 * 1024;
// How long after a failed attempt to delete what is left the next one follows.
constexpr std::chrono::seconds clean_again{30};

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("berthd is stopping") {}
};

manifests::Settings of_probe(manifests::Settings settings) {
  settings.instance += instance_suffix;
  return settings;
}

// The tier that everybody can have: the first that needs no approval.
tiers::Confinement strangers_confinement(db::Tx& tx) {
  const std::vector<tiers::Tier> all = tiers::list(tx);
  if (all.empty()) return {};
  const auto found = std::ranges::find_if(all, [](const tiers::Tier& t) { return t.auto_approve; });
  tiers::Confinement confinement = (found == all.end() ? all.front() : *found).confinement;
  confinement.smtp = false;  // SMTP needs a network policy of its own, which not every tenant has
  return confinement;
}

// Returns why the pod's container doesn't run, as the cluster reports it.
std::string trouble_of(const Object& pod) {
  for (const Object& container : field(pod, {"status", "containerStatuses"}))
    for (const char* state : {"waiting", "terminated"}) {
      const Object& found = field(container, {"state", state});
      const std::string reason = text_at(found, {"reason"});
      if (!reason.empty() && reason != "ContainerCreating")
        return reason + " " + text_at(found, {"message"});
    }
  const Object& scheduled = condition(pod, "PodScheduled");
  return text_at(scheduled, {"status"}) == "False" ? text_at(scheduled, {"message"}) : "";
}

void add_address(std::vector<std::string>& addresses, const std::string& address) {
  if (!address.empty() && std::ranges::find(addresses, address) == addresses.end())
    addresses.push_back(address);
}

std::vector<std::string> addresses_of(const Object& pod) {
  std::vector<std::string> addresses;
  for (const Object& entry : field(pod, {"status", "podIPs"}))
    add_address(addresses, text_at(entry, {"ip"}));
  add_address(addresses, text_at(pod, {"status", "podIP"}));
  return addresses;
}

// Returns what the probe needs to know of a pod in kube-system.
Object shortened(const Object& pod) {
  Object ports = Object::array();
  for (const Object& container : field(pod, {"spec", "containers"}))
    for (const Object& port : field(container, {"ports"})) ports.push_back(port);
  return {{"metadata", {{"name", name_of(pod)}}},
          {"status",
           {{"hostIP", text_at(pod, {"status", "hostIP"})},
            {"podIP", text_at(pod, {"status", "podIP"})}}},
          {"ports", std::move(ports)}};
}

void log_report(const Report& report) {
  const int open = isolation::open_paths(report);
  if (open == 0 && isolation::blocked_paths(report) == 0)
    return log::info("the isolation probe found every path shut that must be",
                     {{"tried", report.paths.size()}});
  for (const isolation::Path& path : report.paths) {
    if (isolation::is_open(path) || isolation::is_blocked(path))
      log::warning(
          isolation::is_open(path) ? "tenants can use a path that must be shut"
                                   : "tenants can't use a path that they need",
          {{"from", path.from}, {"to", path.to}, {"target", path.target}, {"answer", path.detail}});
  }
}

}  // namespace

IsolationProbe::IsolationProbe(Parts parts)
    : parts_(std::move(parts)), settings_(of_probe(parts_.settings)) {}

void IsolationProbe::ask() { asked_ = true; }

void IsolationProbe::run_once() {
  try {
    do_what_is_due();
  } catch (const std::exception& failure) {
    log::warning("the isolation probe couldn't use the database", {{"error", failure.what()}});
  }
  running_ = false;
}

void IsolationProbe::do_what_is_due() {
  if (!parts_.leads()) {
    led_ = false;
    asked_ = false;
    return;
  }
  if (!led_) begin_to_lead();
  if (!is_clean_ && SteadyClock::now() >= clean_again_at_) {
    is_clean_ = remove_namespaces();
    clean_again_at_ = SteadyClock::now() + clean_again;
  }
  const bool is_due = !due_at_ || parts_.clock.now() >= *due_at_;
  if (parts_.mode != Mode::off && (is_due || asked_)) run();
}

void IsolationProbe::begin_to_lead() {
  const auto report = parts_.database.read(isolation::known).report;
  led_ = true;
  is_clean_ = false;
  clean_again_at_ = {};
  again_after_ = after_problem;
  due_at_ = report ? std::optional(report->at + fresh) : std::nullopt;
}

void IsolationProbe::run() {
  running_ = true;  // set before asked_ is reset, so that is_busy() never returns false in between
  asked_ = false;
  due_at_ = parts_.clock.now() + again_after_;
  again_after_ = std::min(2 * again_after_, longest_after_problem);
  is_clean_ = false;
  try {
    image_ = parts_.image();
    if (image_.empty())
      throw std::runtime_error("isolation-image is empty: there is no image to probe with");
    const Report report = probe();
    if (isolation::open_paths(report) == 0 && !report.doubt.empty())
      throw std::runtime_error(report.doubt);
    parts_.database.write([&](db::Tx& tx) { isolation::store(tx, report); });
    log_report(report);
    problem_.clear();
    due_at_ = parts_.clock.now() + after_report;
    again_after_ = after_problem;
  } catch (const Stopped&) {
    log::info("the isolation probe was interrupted, because berthd is stopping");
  } catch (const kube::Fenced&) {
    log::info("the isolation probe was interrupted, because this process no longer leads");
  } catch (const std::exception& failure) {
    came_to_nothing(failure.what());
  }
  is_clean_ = remove_namespaces();
  clean_again_at_ = SteadyClock::now() + clean_again;
  if (parts_.changed) parts_.changed();
}

void IsolationProbe::came_to_nothing(const std::string& problem) {
  log::write(problem == problem_ ? log::Level::debug : log::Level::warning,
             "the isolation probe had no result", {{"problem", problem}});
  problem_ = problem;
  try {
    parts_.database.write([&](db::Tx& tx) { isolation::store_problem(tx, problem); });
  } catch (const std::exception& failure) {
    log::warning("the isolation probe's result couldn't be stored", {{"error", failure.what()}});
  }
}

Report IsolationProbe::probe() {
  confinement_ = parts_.database.read(strangers_confinement);
  std::array<Tenant, 2> tenants = {
      Tenant{.who = "first tenant", .app_id = new_uuid(parts_.clock.now())},
      Tenant{.who = "second tenant", .app_id = new_uuid(parts_.clock.now())}};
  ProbeSurroundings around = parts_.surroundings();
  const ProbePod listens = {.port = probe_port, .other_port = probe_other_port};
  std::array<std::string, 2> listeners;
  for (size_t i = 0; i < tenants.size(); ++i) {
    make_namespace(tenants.at(i));
    listeners.at(i) = make_deployment(tenants.at(i), "listens", probe_arguments(listens),
                                      &tenants.at(i).listening.service);
  }
  for (size_t i = 0; i < tenants.size(); ++i) {
    const Object pod = ready_pod(tenants.at(i), listeners.at(i));
    tenants.at(i).listening.addresses = addresses_of(pod);
    add_address(around.nodes, text_at(pod, {"status", "hostIP"}));
  }
  add_system(around);
  const std::string nonce = hex(random_bytes(nonce_bytes));
  std::map<std::string, ProbeAnswers> answers;
  std::vector<isolation::Path> paths;
  for (size_t i = 0; i < tenants.size(); ++i) {
    Tenant& tenant = tenants.at(i);
    tenant.paths = probe_paths(tenant.who, tenant.listening, tenants.at(1 - i).listening, around);
    ProbePod tries = listens;
    tries.nonce = nonce;
    for (const isolation::Path& path : tenant.paths) tries.targets.push_back(path.target);
    tenant.prober = make_deployment(tenant, "tries", probe_arguments(tries), nullptr);
  }
  for (Tenant& tenant : tenants) {
    answers[tenant.who] = answers_of(tenant, nonce);
    std::ranges::move(tenant.paths, std::back_inserter(paths));
  }
  return judge(std::move(paths), answers, parts_.clock.now());
}

void IsolationProbe::make_namespace(const Tenant& tenant) {
  constexpr int pods = 2;
  const deployments::AppSize size = {
      .deployments = pods,
      .containers = pods,
      .memory_mb = std::int64_t(pods) * container_memory_mb,
      .cpu_millicores = std::int64_t(pods) * container_cpu_millicores,
      .largest_memory_mb = container_memory_mb,
      .largest_cpu_millicores = container_cpu_millicores};
  for (const Object& object : manifests::of_namespace(tenant.app_id, size, settings_)) {
    apply(object);
    // The API server takes a moment until a new role binding has effect, and refuses requests that
    // need it earlier.
    if (text_at(object, {"kind"}) == kube::role_bindings.kind) pause();
  }
}

std::string IsolationProbe::make_deployment(const Tenant& tenant, const std::string& name,
                                            const std::vector<std::string>& arguments,
                                            std::string* service) {
  deployments::DesiredState state;
  deployments::Deployment& row = state.deployment;
  row.id = new_uuid(parts_.clock.now());
  row.app_id = tenant.app_id;
  row.name = name;
  row.container.image = image_;
  row.container.port = probe_port;
  row.memory_limit_mb = container_memory_mb;
  row.cpu_limit_millicores = container_cpu_millicores;
  row.status = deployments::Status::deploying;
  state.confinement = confinement_;
  state.host_is_held = true;  // with this, no Ingress is made
  for (Object& object : manifests::of_deployment(state, settings_)) {
    const bool is_deployment = text_at(object, {"kind"}) == kube::deployments.kind;
    if (is_deployment) object["spec"]["template"]["spec"]["containers"][0]["args"] = arguments;
    const Object live = apply(object);
    if (service != nullptr && text_at(object, {"kind"}) == kube::services.kind)
      *service = text_at(live, {"spec", "clusterIP"});
  }
  return row.id;
}

// The API server takes a moment to act on the RoleBinding of a new namespace.
Object IsolationProbe::apply(const Object& object) {
  const auto until = SteadyClock::now() + parts_.limits.rights;
  while (true) {
    try {
      return parts_.client.apply(object);
    } catch (const kube::ApiError& error) {
      if (error.status != 403 || !settings_.tenant_role || SteadyClock::now() >= until) throw;
    }
    pause();
  }
}

std::vector<Object> IsolationProbe::objects_of(const kube::Resource& resource, const Tenant& tenant,
                                               const std::string& deployment) {
  return parts_.client
      .list(resource, {.name_space = manifests::namespace_of(tenant.app_id),
                       .label_selector = manifests::selector(settings_, deployment),
                       .field_selector = ""})
      .items;
}

// Returns why a Deployment has no pod, as the cluster reports it.
std::string IsolationProbe::trouble_with(const Tenant& tenant, const std::string& deployment) {
  for (const Object& object : objects_of(kube::deployments, tenant, deployment))
    return text_at(condition(object, "ReplicaFailure"), {"message"});
  return "";
}

Object IsolationProbe::ready_pod(const Tenant& tenant, const std::string& deployment) {
  const auto until = SteadyClock::now() + parts_.limits.starting;
  std::string trouble;
  while (SteadyClock::now() < until) {
    const std::vector<Object> pods = objects_of(kube::pods, tenant, deployment);
    if (pods.empty()) trouble = trouble_with(tenant, deployment);
    for (const Object& pod : pods) {
      if (is_ready(pod) && !is_being_deleted(pod)) return pod;
      trouble = trouble_of(pod);
    }
    pause();
  }
  throw std::runtime_error("a pod of the probe with the image " + image_ + " doesn't become ready" +
                           (trouble.empty() ? "" : ": " + trouble));
}

ProbeAnswers IsolationProbe::answers_of(const Tenant& tenant, const std::string& nonce) {
  const auto until = SteadyClock::now() + parts_.limits.answering;
  const std::string name_space = manifests::namespace_of(tenant.app_id);
  std::string trouble;
  while (SteadyClock::now() < until) {
    for (const Object& pod : objects_of(kube::pods, tenant, tenant.prober)) {
      trouble = trouble_of(pod);
      try {
        const std::string log =
            parts_.read_log ? parts_.read_log(name_space, name_of(pod))
                            : parts_.client.logs(name_space, name_of(pod), log_lines, false);
        if (auto answers = read_answers(log, nonce)) return *std::move(answers);
      } catch (const kube::ApiError& error) {
        trouble = error.what();  // such as that the container hasn't started yet
      }
    }
    pause();
  }
  throw std::runtime_error("a pod of the probe doesn't say what it found" +
                           (trouble.empty() ? "" : ": " + trouble));
}

// The nodes, and what else is in kube-system, as far as berthd may see it.
void IsolationProbe::add_system(ProbeSurroundings& around) {
  around.ingress_ranges = settings_.ingress_controller.ranges;
  around.ingress_ports = settings_.ingress_controller.ports;
  std::vector<Object> pods;
  try {
    pods = parts_.client
               .list(kube::pods,
                     {.name_space = system_namespace, .label_selector = "", .field_selector = ""},
                     shortened)
               .items;
  } catch (const kube::ApiError& error) {
    log::debug("the pods of kube-system couldn't be listed", {{"error", error.what()}});
  }
  // An ingress controller there may be reached.
  const bool is_ingress = settings_.ingress_controller.name_space == system_namespace;
  for (const Object& pod : pods) {
    const std::string node = text_at(pod, {"status", "hostIP"});
    const std::string address = text_at(pod, {"status", "podIP"});
    add_address(around.nodes, node);
    if (address.empty() || address == node || is_ingress) continue;
    for (const Object& port : field(pod, {"ports"})) {
      const int number = int(number_at(port, {"containerPort"}));
      const std::string protocol = text_at(port, {"protocol"});
      if (number != dns_port && (protocol.empty() || protocol == "TCP"))
        around.system.push_back({"a port in kube-system", address, number});
    }
  }
}

void IsolationProbe::pause() const {
  if (parts_.stopping()) throw Stopped();
  std::this_thread::sleep_for(parts_.limits.look_again);
}

// Returns whether everything of earlier runs is deleted or being deleted.
bool IsolationProbe::remove_namespaces() {
  try {
    const kube::ListOptions ours = {
        .name_space = "", .label_selector = manifests::selector(settings_), .field_selector = ""};
    for (const Object& space : parts_.client.list(kube::namespaces, ours).items)
      if (!is_being_deleted(space))
        parts_.client.remove(kube::namespaces, "", name_of(space), uid_of(space));
    return true;
  } catch (const std::exception& failure) {
    log::debug("what the isolation probe made couldn't be deleted yet",
               {{"error", failure.what()}});
    return false;
  }
}

std::optional<ProbeAnswers> read_answers(const std::string& log, const std::string& nonce) {
  std::optional<ProbeAnswers> newest;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > max_line || !line.contains(nonce)) continue;
    const Object said = Object::parse(line, nullptr, false);
    if (!said.is_object() || text_at(said, {"probe"}) != nonce) continue;
    const Object& answers = field(said, {"answers"});
    if (!answers.is_object() || answers.size() > isolation::max_paths) continue;
    ProbeAnswers read;
    for (const auto& [target, answer] : answers.items())
      if (answer.is_string()) read[target] = cut(answer.get<std::string>(), isolation::max_text);
    newest = std::move(read);
  }
  return newest;
}

}  // namespace berth::reconcilers
