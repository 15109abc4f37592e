#include "reconcilers/embedded/node/simulated/runtime.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/quantity.h"
#include "reconcilers/embedded/node/simulated/commands.h"

namespace berth::embedded {
namespace {

// How many images a node keeps.
constexpr size_t most_images = 1'000;
constexpr std::uint64_t image_size = 12'345'678;
constexpr int killed = 137;

bool runs_as_root(const Json& pod, const Json& spec) {
  const Json& own = at_path(spec, "/securityContext/runAsUser");
  const Json& user = own.is_null() ? at_path(pod, "/spec/securityContext/runAsUser") : own;
  return user.is_null() || user == 0;
}

// Whether the kernel lets the container listen on the port: those below 1024 are for root, unless
// the pod says otherwise (ip(7), ip_unprivileged_port_start).
bool may_listen(const Json& pod, const Json& spec, std::int64_t port) {
  constexpr std::int64_t first_unprivileged_port = 1024;
  std::int64_t first = first_unprivileged_port;
  for (const Json& sysctl : at_path(pod, "/spec/securityContext/sysctls"))
    if (text_at(sysctl, "name") == "net.ipv4.ip_unprivileged_port_start")
      first = parse_number<std::int64_t>(text_at(sysctl, "value")).value_or(first);
  return port >= first || runs_as_root(pod, spec);
}

// The number of the port that the readiness probe asks for; empty without such a probe.
std::string readiness_port(const Json& spec) {
  const Json& get = at_path(spec, "/readinessProbe/httpGet/port");
  const Json& port = get.is_null() ? at_path(spec, "/readinessProbe/tcpSocket/port") : get;
  if (port.is_null() || port.is_number()) return port.is_null() ? "" : port.dump();
  for (const Json& one : at_path(spec, "/ports"))
    if (at_path(one, "/name") == port) return at_path(one, "/containerPort").dump();
  return "0";
}

bool listens(ImageBehaviour behaviour) {
  return behaviour == ImageBehaviour::runs || behaviour == ImageBehaviour::talks;
}

bool crashes(ImageBehaviour behaviour) {
  return behaviour == ImageBehaviour::crashes || behaviour == ImageBehaviour::out_of_memory ||
         behaviour == ImageBehaviour::needs_root;
}

std::string refused_connection(const std::string& ip, const ProbeRequest& request) {
  const std::string address = ip + ":" + std::to_string(request.port);
  const Json& get = at_path(request.probe, "/httpGet");
  if (get.is_null()) return "dial tcp " + address + ": connect: connection refused";
  const std::string scheme = text_at(get, "scheme") == "HTTPS" ? "https" : "http";
  return "Get \"" + scheme + "://" + address + text_at(get, "path") + "\": dial tcp " + address +
         ": connect: connection refused";
}

}  // namespace

NodeInfo SimulatedRuntime::node() const {
  NodeInfo info;
  info.name = simulated_node;
  info.address = simulated_address;
  info.cpu_millicores = 64'000;
  info.memory_bytes = 256ULL << 30;
  info.pods = 10'000;
  info.kubelet_version = "v1.37.0-simulated";
  info.kernel_version = "simulated";
  info.runtime_version = "simulated";
  return info;
}

std::string SimulatedRuntime::no_room_for(const Json& pod) const {
  for (const Json& container : at_path(pod, "/spec/containers"))
    if (images_.of(text_at(container, "image")) == ImageBehaviour::unschedulable)
      return "Insufficient memory";
  return "";
}

SimulatedRuntime::Place* SimulatedRuntime::find(const Run& run) {
  return const_cast<Place*>(std::as_const(*this).find(run));
}

const SimulatedRuntime::Place* SimulatedRuntime::find(const Run& run) const {
  const auto pod = pods_.find(run.uid);
  if (pod == pods_.end()) return nullptr;
  const auto place = pod->second.places.find(run.container);
  return place == pod->second.places.end() ? nullptr : &place->second;
}

std::string SimulatedRuntime::next_address() {
  const std::uint32_t number = ++addresses_;
  // flannel gives 10.244.0.0/16 to pods; the addresses .0 and .1 of each node aren't given to them.
  return "10.244." + std::to_string(number / 250 % 256) + "." + std::to_string(number % 250 + 2);
}

void SimulatedRuntime::pull(const Run& run, const PullRequest& request, Moment now) {
  Place& place = pods_[run.uid].places[run.container];
  if (place.pull) return;
  place.pull = request;
  place.pull_began = now;
  // If the node has the image, only its digest is looked up.
  place.pull_ends = now + (pulled_.contains(request.image) ? timing_.pull / 10 : timing_.pull);
}

Pull SimulatedRuntime::pull_state(const Run& run, Moment now, std::optional<Moment>& again) {
  Place* place = find(run);
  Pull pull;
  if (place == nullptr || !place->pull) return pull;
  const std::string image = place->pull->image;
  const PullPolicy policy = place->pull->policy;
  if (policy != PullPolicy::always && pulled_.contains(image)) {
    place->pull.reset();
    pull.stage = Pull::Stage::present;
    return pull;
  }
  if (policy == PullPolicy::never) {
    place->pull.reset();
    return {
        .stage = Pull::Stage::failed,
        .reason = "ErrImageNeverPull",
        .message = "Container image \"" + image + "\" is not present with pull policy of Never"};
  }
  if (now < place->pull_ends) {
    again = place->pull_ends;
    pull.stage = Pull::Stage::under_way;
    return pull;
  }
  place->pull.reset();
  if (images_.of(image) == ImageBehaviour::missing) {
    const std::string full = full_reference(image);
    return {.stage = Pull::Stage::failed,
            .reason = "ErrImagePull",
            .message = "rpc error: code = NotFound desc = failed to pull and unpack image \"" +
                       full + "\": failed to resolve reference \"" + full + "\": " + full +
                       ": not found"};
  }
  if (pulled_.size() >= most_images) pulled_.clear();  // the node's garbage collection
  pulled_.insert(image);
  return {.stage = Pull::Stage::pulled,
          .reason = {},
          .message = {},
          .took = timing_.pull,
          .bytes = image_size};
}

void SimulatedRuntime::start(const Run& run, const StartRequest& request, Moment now) {
  Pod& pod = pods_[run.uid];
  if (pod.address.empty()) pod.address = next_address();
  Place& place = pod.places[run.container];
  if (place.number >= run.number) return;
  const std::string image = text_at(request.spec, "image");
  const std::string port = readiness_port(request.spec);
  ImageBehaviour behaviour = images_.of(image);
  if (behaviour == ImageBehaviour::needs_root && runs_as_root(request.pod, request.spec))
    behaviour = ImageBehaviour::runs;
  if (listens(behaviour) && !port.empty() &&
      !may_listen(request.pod, request.spec, parse_number<std::int64_t>(port).value_or(0)))
    behaviour = ImageBehaviour::port_denied;
  place.previous = std::move(place.output);
  std::optional<SimulatedCommand> command;
  if (behaviour == ImageBehaviour::runs && !request.command.empty() &&
      text_at(request.pod["spec"], "restartPolicy") == "Never")
    command = command_of(request.command, request.args);
  place.output = std::make_shared<ContainerOutput>(
      run.container, image, behaviour, listens(behaviour) ? port : "", nanoseconds_now(),
      command ? std::optional(command->output) : std::nullopt);
  place.finishes.reset();
  if (command) {
    place.finishes = now + timing_.start + command->seconds * timing_.second;
    place.exit_code = command->exit_code;
    place.last_line = command->output.empty() ? "" : command->output.back() + "\n";
  }
  place.number = run.number;
  place.up = now + timing_.start;
  place.passes = place.up + timing_.probe;
  place.ends.reset();
  place.ended = false;
  place.started_at = timestamp();
  place.finished_at.clear();
  place.probes.clear();
  place.variables.clear();
  for (const auto& [name, value] : request.env) place.variables += name + "\n";
  place.mounts.clear();
  if (!pod.tokens.empty())
    for (const Json& mount : at_path(request.spec, "/volumeMounts"))
      place.mounts[text_at(mount, "name")] = text_at(mount, "mountPath");
  end_shells(place);
}

RunState SimulatedRuntime::state(const Run& run, Moment now, std::optional<Moment>& again) {
  RunState state;
  Place* place = find(run);
  if (place == nullptr || place->number != run.number) return state;
  const ImageBehaviour behaviour = place->output->behaviour();
  std::optional<Moment> end = place->ends;
  if (crashes(behaviour)) end = std::min(place->up, end.value_or(place->up));
  if (place->finishes) end = std::min(*place->finishes, end.value_or(*place->finishes));
  if (end && now >= *end && !place->ended) {
    place->ended = true;
    place->finished_at = timestamp();
    place->output->end(nanoseconds_now());
    place->probes.clear();
    end_shells(*place);
  }
  state.stage = place->ended ? RunState::Stage::ended : RunState::Stage::running;
  state.container_id =
      "containerd://" + hex(sha256(run.uid + run.container + std::to_string(run.number)));
  state.image = full_reference(place->output->image());
  state.image_id = image_id(place->output->image());
  state.address = pods_[run.uid].address;
  state.started_at = place->started_at;
  state.finished_at = place->finished_at;
  if (!place->ended) {
    again = end;
    return state;
  }
  if (place->finishes && (!place->ends || *place->finishes <= *place->ends)) {
    state.exit_code = place->exit_code;
    state.reason = place->exit_code == 0 ? "Completed" : "Error";
    state.message = place->last_line;
    return state;
  }
  const bool stopped = place->ends && (!crashes(behaviour) || *place->ends < place->up);
  const bool out_of_memory = behaviour == ImageBehaviour::out_of_memory && !stopped;
  state.exit_code = stopped || out_of_memory ? killed : 1;
  state.reason = out_of_memory ? "OOMKilled" : "Error";
  state.message = last_words(behaviour);
  return state;
}

// It is done at once.
Resize SimulatedRuntime::resize(const Run& run, const Json& spec, Moment) {
  const auto used = usage(run);
  const auto limit = quantity_of(at_path(spec, "/resources/limits/memory"));
  if (used && limit && limit->milli() / 1000 < std::int64_t(used->memory_bytes))
    return {.stage = Resize::Stage::failed,
            .message = "attempting to set pod memory limit below current usage"};
  return {.stage = Resize::Stage::done};
}

void SimulatedRuntime::probe(const Run& run, ProbeKind kind, const ProbeRequest& request,
                             Moment now) {
  Place* place = find(run);
  if (place == nullptr || place->number != run.number) return;
  place->probes.try_emplace(
      kind, Probe{now, request.patience, refused_connection(pods_[run.uid].address, request)});
}

std::optional<ProbeResult> SimulatedRuntime::probe_result(const Run& run, ProbeKind kind,
                                                          Moment now,
                                                          std::optional<Moment>& again) {
  Place* place = find(run);
  if (place == nullptr || place->number != run.number) return std::nullopt;
  const auto found = place->probes.find(kind);
  if (found == place->probes.end()) return std::nullopt;
  const Probe& probe = found->second;
  const bool will_pass =
      listens(place->output->behaviour()) && place->up <= probe.began + probe.patience;
  const bool may_pass = listens(place->output->behaviour());
  // What never listens refuses as soon as it is up.
  Moment answers = std::max(probe.began, place->up);
  if (will_pass)
    answers = std::max(probe.began, place->passes);
  else if (may_pass)
    answers = probe.began + probe.patience;
  if (now < answers) {
    again = answers;
    return std::nullopt;
  }
  ProbeResult result{.succeeded = will_pass, .message = will_pass ? "" : probe.refused};
  place->probes.erase(found);
  return result;
}

bool SimulatedRuntime::passes_for_ever(const Run& run, ProbeKind) const {
  const Place* place = find(run);
  return place != nullptr && place->number == run.number && listens(place->output->behaviour());
}

void SimulatedRuntime::stop(const Run& run, std::chrono::milliseconds, Moment now) {
  Place* place = find(run);
  if (place == nullptr || place->number != run.number || place->ends) return;
  place->ends = now + timing_.stop;
}

void SimulatedRuntime::remove(const std::string&, const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  for (auto& [name, place] : pod->second.places) {
    if (place.output) place.output->end(nanoseconds_now());
    end_shells(place);
  }
  pods_.erase(pod);
}

void SimulatedRuntime::remove(const Run& run) {
  Place* place = find(run);
  if (place != nullptr && place->number == run.number + 1) place->previous.reset();
}

std::shared_ptr<RunLog> SimulatedRuntime::log(const Run& run,
                                              std::optional<std::uint64_t> tail_lines) const {
  const Place* place = find(run);
  if (place == nullptr) return nullptr;
  if (run.number == place->number && place->output) return log_of(place->output, tail_lines);
  if (run.number + 1 == place->number && place->previous)
    return log_of(place->previous, tail_lines);
  return nullptr;
}

std::optional<Usage> SimulatedRuntime::usage(const Run& run) const {
  const Place* place = find(run);
  if (place == nullptr || place->number != run.number || place->ended) return std::nullopt;
  const size_t mark = std::hash<std::string>()(run.pod + run.container);
  Usage usage;
  usage.at = timestamp();
  usage.cpu_nanocores = 1'000'000 + mark % 4'000'000;
  usage.memory_bytes = (16'384 + mark % 16'384) * 1024;
  return usage;
}

void SimulatedRuntime::end_shells(Place& place) {
  for (const std::weak_ptr<Shell>& one : place.shells)
    if (const auto shell = one.lock()) shell->kill();
  place.shells.clear();
}

Runtime::Opening SimulatedRuntime::open(const Run& run, const SessionRequest& request) {
  Place* place = find(run);
  if (place == nullptr || place->number != run.number || place->ended)
    throw Error(Code::invalid_state, "the container doesn't run any more");
  ShellWorld world{.container = run.container,
                   .image = place->output->image(),
                   .port = place->output->port(),
                   .variables = place->variables};
  for (const TokenFile& file : pods_[run.uid].tokens)
    if (const auto mount = place->mounts.find(file.volume); mount != place->mounts.end())
      world.files[mount->second + "/" + file.path] = file.token;
  std::erase_if(place->shells, [](const auto& one) { return one.expired(); });
  auto shell = std::make_shared<Shell>(world, request);
  place->shells.push_back(shell);
  return [shell] { return session_of(shell); };
}

}  // namespace berth::embedded
