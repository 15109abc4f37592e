#include "reconcilers/embedded/node/container.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

// For pulls and for restarts, in seconds (MaxContainerBackOff of the kubelet).
constexpr int first_back_off = 10;
constexpr int longest_back_off = 300;

// How many images a node keeps.
constexpr size_t most_images = 1'000;

int back_off_seconds(int failures) {
  return failures > 5 ? longest_back_off
                      : std::min(longest_back_off, first_back_off << (failures - 1));
}

std::string shown_seconds(int seconds) {
  if (seconds < 60) return std::to_string(seconds) + "s";
  return std::to_string(seconds / 60) + "m" + std::to_string(seconds % 60) + "s";
}

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

// The name of a Secret or ConfigMap that the container's variables refer to and that doesn't exist.
std::string missing_source(const Store& store, const std::string& name_space, const Json& spec) {
  const auto missing = [&](Kind kind, const Json& reference) -> std::string {
    const std::string name = text_at(reference, "name");
    if (name.empty() || at_path(reference, "/optional") == true ||
        store.find({kind, name_space, name}))
      return "";
    return std::string(kind == Kind::secrets ? "secret" : "configmap") + " \"" + name +
           "\" not found";
  };
  for (const Json& from : at_path(spec, "/envFrom")) {
    const std::string secret = missing(Kind::secrets, at_path(from, "/secretRef"));
    const std::string map = missing(Kind::config_maps, at_path(from, "/configMapRef"));
    if (!secret.empty() || !map.empty()) return secret.empty() ? map : secret;
  }
  for (const Json& variable : at_path(spec, "/env")) {
    const std::string secret = missing(Kind::secrets, at_path(variable, "/valueFrom/secretKeyRef"));
    const std::string map =
        missing(Kind::config_maps, at_path(variable, "/valueFrom/configMapKeyRef"));
    if (!secret.empty() || !map.empty()) return secret.empty() ? map : secret;
  }
  return "";
}

// The message of FailedMount for a volume whose Secret doesn't exist.
std::string failed_mount(const Store& store, const Json& pod) {
  for (const Json& volume : at_path(pod, "/spec/volumes")) {
    const Json& secret = at_path(volume, "/secret");
    const std::string name = text_at(secret, "secretName");
    if (name.empty() || at_path(secret, "/optional") == true) continue;
    if (!store.find({Kind::secrets, namespace_of(pod), name}))
      return "MountVolume.SetUp failed for volume \"" + text_at(volume, "name") + "\" : secret \"" +
             name + "\" not found";
  }
  return "";
}

std::string port_of(const Json& spec, const Json& port) {
  if (port.is_number()) return port.dump();
  for (const Json& one : at_path(spec, "/ports"))
    if (at_path(one, "/name") == port) return at_path(one, "/containerPort").dump();
  return "0";
}

// When a readiness probe of a container that has just been started or probed is due.
Moment next_probe(const Node& node, const Json& spec, Moment now) {
  if (!spec.contains("readinessProbe")) return Moment::max();
  return now + number_at(spec, "/readinessProbe/periodSeconds", 10) * node.timing.second;
}

std::string refused_connection(const Json& pod, const Json& spec, const Json& probe) {
  const std::string ip = text_at(pod["status"], "podIP");
  if (probe.contains("httpGet")) {
    const Json& get = probe["httpGet"];
    const std::string address = ip + ":" + port_of(spec, at_path(get, "/port"));
    const std::string scheme = text_at(get, "scheme") == "HTTPS" ? "https" : "http";
    return "Get \"" + scheme + "://" + address + text_at(get, "path") + "\": dial tcp " + address +
           ": connect: connection refused";
  }
  return "dial tcp " + ip + ":" + port_of(spec, at_path(probe, "/tcpSocket/port")) +
         ": connect: connection refused";
}

}  // namespace

void Container::tell(Node& node, const Json& pod, const Json& spec, EventType type,
                     const std::string& reason, const std::string& message) {
  node.events.record(pod, "kubelet", {type, reason, message, text_at(spec, "name")});
}

void Container::wait(const std::string& reason, const std::string& message) {
  waiting_reason_ = reason;
  waiting_message_ = message;
}

void Container::fail_probe(Node& node, const Json& pod, const Json& spec, const char* field,
                           const std::string& name) {
  tell(node, pod, spec, EventType::warning, "Unhealthy",
       name + " probe failed: " + refused_connection(pod, spec, at_path(spec, field)));
}

void Container::advance(Node& node, const Json& pod, const Json& spec, Moment now) {
  if (!due_ || now < *due_) return;
  switch (stage_) {
    case Stage::creating:
    case Stage::misconfigured:
      prepare(node, pod, spec, now);
      break;
    case Stage::pulling:
      pulled(node, pod, spec, now);
      break;
    case Stage::pull_failed: {
      const std::string image = text_at(spec, "image");
      const std::string why = waiting_message_;
      tell(node, pod, spec, EventType::normal, "BackOff",
           "Back-off pulling image \"" + image + "\"");
      tell(node, pod, spec, EventType::warning, "Failed", "Error: ImagePullBackOff");
      wait("ImagePullBackOff", "Back-off pulling image \"" + image + "\": ErrImagePull: " + why);
      stage_ = Stage::pull_back_off;
      due_ = now + back_off_seconds(pull_failures_) * node.timing.second;
      break;
    }
    case Stage::pull_back_off:
      pull(node, pod, spec, now);
      break;
    case Stage::running:
      run(node, pod, spec, now);
      break;
    case Stage::exited:
      after_exit(node, pod, spec, now);
      break;
    case Stage::back_off:
      ++restarts_;
      prepare(node, pod, spec, now);
      break;
    case Stage::ended:
      due_.reset();
      break;
  }
}

void Container::prepare(Node& node, const Json& pod, const Json& spec, Moment now) {
  behaviour_ = node.images.of(text_at(spec, "image"));
  if (const std::string failed = failed_mount(node.store, pod); !failed.empty()) {
    node.events.record(pod, "kubelet", {EventType::warning, "FailedMount", failed, ""});
    due_ = now + 2 * node.timing.second;
    return;
  }
  const std::string image = text_at(spec, "image");
  if (text_at(spec, "imagePullPolicy") == "Always" || !node.pulled.contains(image))
    return pull(node, pod, spec, now);
  tell(node, pod, spec, EventType::normal, "Pulled",
       "Container image \"" + image + "\" already present on machine");
  start(node, pod, spec, now);
}

void Container::pull(Node& node, const Json& pod, const Json& spec, Moment now) {
  const std::string image = text_at(spec, "image");
  behaviour_ = node.images.of(image);
  tell(node, pod, spec, EventType::normal, "Pulling", "Pulling image \"" + image + "\"");
  stage_ = Stage::pulling;
  // If the node has the image, only its digest is looked up.
  due_ = now + (node.pulled.contains(image) ? node.timing.pull / 10 : node.timing.pull);
}

void Container::pulled(Node& node, const Json& pod, const Json& spec, Moment now) {
  const std::string image = text_at(spec, "image");
  if (behaviour_ == ImageBehaviour::missing) {
    const std::string full = full_reference(image);
    const std::string why = "rpc error: code = NotFound desc = failed to pull and unpack image \"" +
                            full + "\": failed to resolve reference \"" + full + "\": " + full +
                            ": not found";
    ++pull_failures_;
    tell(node, pod, spec, EventType::warning, "Failed",
         "Failed to pull image \"" + image + "\": " + why);
    tell(node, pod, spec, EventType::warning, "Failed", "Error: ErrImagePull");
    wait("ErrImagePull", why);
    stage_ = Stage::pull_failed;
    due_ = now + node.timing.second;
    return;
  }
  pull_failures_ = 0;
  if (node.pulled.size() >= most_images) node.pulled.clear();  // the node's garbage collection
  node.pulled.insert(image);
  const std::string took = std::to_string(node.timing.pull.count()) + "ms";
  tell(node, pod, spec, EventType::normal, "Pulled",
       "Successfully pulled image \"" + image + "\" in " + took + " (" + took +
           " including waiting). Image size: 12345678 bytes.");
  start(node, pod, spec, now);
}

void Container::start(Node& node, const Json& pod, const Json& spec, Moment now) {
  if (const std::string missing = missing_source(node.store, namespace_of(pod), spec);
      !missing.empty()) {
    tell(node, pod, spec, EventType::warning, "Failed", "Error: " + missing);
    wait("CreateContainerConfigError", missing);
    stage_ = Stage::misconfigured;
    due_ = now + 2 * node.timing.second;
    return;
  }
  const std::string name = text_at(spec, "name");
  tell(node, pod, spec, EventType::normal, "Created", "Created container: " + name);
  tell(node, pod, spec, EventType::normal, "Started", "Started container " + name);
  stage_ = Stage::running;
  const Json& get = at_path(spec, "/readinessProbe/httpGet/port");
  const Json& port = get.is_null() ? at_path(spec, "/readinessProbe/tcpSocket/port") : get;
  bool listens = behaviour_ == ImageBehaviour::runs || behaviour_ == ImageBehaviour::talks;
  if (listens && !port.is_null() &&
      !may_listen(pod, spec, parse_number<std::int64_t>(port_of(spec, port)).value_or(0))) {
    behaviour_ = ImageBehaviour::port_denied;
    listens = false;
  }
  previous_output_ = std::move(output_);
  output_.emplace(name, text_at(spec, "image"), behaviour_,
                  listens && !port.is_null() ? port_of(spec, port) : "", nanoseconds_now());
  ++runs_;
  started_ = now;
  started_at_ = timestamp();
  killed_by_probe_.reset();
  container_id_ = "containerd://" + hex(sha256(uid_of(pod) + name + std::to_string(restarts_)));
  up_ = now + node.timing.start;
  due_ = std::min(up_, next_probe(node, spec, now));
}

void Container::run(Node& node, const Json& pod, const Json& spec, Moment now) {
  if (now < up_) {
    fail_probe(node, pod, spec, "/readinessProbe", "Readiness");
    due_ = std::min(up_, next_probe(node, spec, now));
    return;
  }
  switch (behaviour_) {
    case ImageBehaviour::crashes:
      return exit(node, pod, spec, now, 1, "Error");
    case ImageBehaviour::out_of_memory:
      return exit(node, pod, spec, now, 137, "OOMKilled");
    case ImageBehaviour::needs_root:
      if (!runs_as_root(pod, spec)) return exit(node, pod, spec, now, 1, "Error");
      break;
    case ImageBehaviour::not_listening:
    case ImageBehaviour::port_denied:
      return probe(node, pod, spec, now);
    default:
      break;
  }
  if (!spec.contains("readinessProbe")) {
    ready_ = true;
    due_.reset();
    return;
  }
  const std::int64_t delay = number_at(spec, "/readinessProbe/initialDelaySeconds", 0);
  const Moment listening = std::max(up_ + node.timing.probe, started_ + delay * node.timing.second);
  ready_ = now >= listening;
  due_ = ready_ ? std::nullopt : std::optional(listening);
}

// For a container that doesn't listen: every probe of a port fails.
void Container::probe(Node& node, const Json& pod, const Json& spec, Moment now) {
  const char* deadly = spec.contains("startupProbe") ? "/startupProbe" : "/livenessProbe";
  const Json& killer = at_path(spec, deadly);
  if (!killer.is_null()) {
    if (!killed_by_probe_) {
      const std::int64_t seconds =
          number_at(killer, "/initialDelaySeconds", 0) +
          number_at(killer, "/failureThreshold", 3) * number_at(killer, "/periodSeconds", 10);
      killed_by_probe_ = started_ + seconds * node.timing.second;
    }
    const std::string what = spec.contains("startupProbe") ? "startup" : "liveness";
    fail_probe(node, pod, spec, deadly, what == "startup" ? "Startup" : "Liveness");
    if (now >= *killed_by_probe_) {
      tell(node, pod, spec, EventType::normal, "Killing",
           "Container " + text_at(spec, "name") + " failed " + what + " probe, will be restarted");
      return exit(node, pod, spec, now, 137, "Error");
    }
  }
  ready_ = !spec.contains("readinessProbe") && !spec.contains("startupProbe");
  if (spec.contains("readinessProbe") && !spec.contains("startupProbe"))
    fail_probe(node, pod, spec, "/readinessProbe", "Readiness");
  if (ready_ && killer.is_null()) {
    due_.reset();
    return;
  }
  const char* period = spec.contains("readinessProbe") ? "/readinessProbe/periodSeconds"
                                                       : "/livenessProbe/periodSeconds";
  due_ = now + number_at(spec, period, 10) * node.timing.second;
}

void Container::exit(Node& node, const Json& pod, const Json& spec, Moment now, int code,
                     const std::string& reason) {
  ready_ = false;
  if (output_) output_->end(nanoseconds_now());
  end_before_ = last_end_;
  last_end_ = {{"exitCode", code},
               {"reason", reason},
               {"startedAt", started_at_},
               {"finishedAt", timestamp()},
               {"containerID", container_id_}};
  // With the policy `File`, the status has a message only if the program writes that file.
  if (text_at(spec, "terminationMessagePolicy") == "FallbackToLogsOnError")
    last_end_["message"] = last_words(behaviour_);
  const bool once = text_at(pod["spec"], "restartPolicy") == "Never";
  stage_ = once ? Stage::ended : Stage::exited;
  due_ = once ? std::nullopt : std::optional(now + node.timing.second);
}

// The first restart happens at once; before further ones the container waits, longer each time.
void Container::after_exit(Node& node, const Json& pod, const Json& spec, Moment now) {
  if (restarts_ == 0) {
    ++restarts_;
    return prepare(node, pod, spec, now);
  }
  const int seconds = back_off_seconds(restarts_);
  const std::string name = text_at(spec, "name");
  const std::string whose = name_of(pod) + "_" + namespace_of(pod) + "(" + uid_of(pod) + ")";
  tell(node, pod, spec, EventType::warning, "BackOff",
       "Back-off restarting failed container " + name + " in pod " + whose);
  wait("CrashLoopBackOff", "back-off " + shown_seconds(seconds) +
                               " restarting failed container=" + name + " pod=" + whose);
  stage_ = Stage::back_off;
  due_ = now + seconds * node.timing.second;
}

void Container::stop(Node& node, const Json& pod, const Json& spec) {
  if (running())
    tell(node, pod, spec, EventType::normal, "Killing",
         "Stopping container " + text_at(spec, "name"));
  if (output_) output_->end(nanoseconds_now());
  due_.reset();
}

std::optional<int> Container::exit_code() const {
  if (stage_ != Stage::ended) return std::nullopt;
  return static_cast<int>(number_at(last_end_, "/exitCode", 0));
}

Json Container::status(const Json& spec) const {
  const std::string image = text_at(spec, "image");
  Json status{{"name", text_at(spec, "name")},
              {"image", full_reference(image)},
              {"imageID", container_id_.empty() ? "" : image_id(image)},
              {"ready", ready_},
              {"started", running()},
              {"restartCount", restarts_},
              {"lastState", Json::object()},
              {"state", Json::object()}};
  if (container_id_.empty()) status["image"] = image;
  if (!container_id_.empty()) status["containerID"] = container_id_;
  const bool just_ended = stage_ == Stage::exited || stage_ == Stage::ended;
  const Json& before = just_ended ? end_before_ : last_end_;
  if (!before.is_null()) status["lastState"]["terminated"] = before;
  if (just_ended) {
    status["state"]["terminated"] = last_end_;
  } else if (running()) {
    status["state"]["running"] = {{"startedAt", started_at_}};
  } else {
    status["state"]["waiting"] = {{"reason", waiting_reason_}};
    if (!waiting_message_.empty()) status["state"]["waiting"]["message"] = waiting_message_;
  }
  return status;
}

PodLog Container::log(const Json& pod, const Json& spec, bool previous) const {
  const std::string name = text_at(spec, "name");
  const std::string whose = "container \"" + name + "\" in pod \"" + name_of(pod) + "\"";
  if (previous) {
    // Between two runs, the run that has ended is both the last one and the previous one of the
    // next.
    const bool between =
        output_ && output_->has_ended() && stage_ != Stage::exited && stage_ != Stage::ended;
    if (!between && !previous_output_)
      throw bad_request("previous terminated container \"" + name + "\" in pod \"" + name_of(pod) +
                        "\" not found");
    return run_log(between ? runs_ - 1 : runs_ - 2);
  }
  if (!output_) {
    const bool pulling = stage_ == Stage::pull_failed || stage_ == Stage::pull_back_off;
    throw bad_request(whose + (pulling ? " is waiting to start: trying and failing to pull image"
                                       : " is waiting to start: " + waiting_reason_));
  }
  return run_log(runs_ - 1);
}

PodLog Container::run_log(int run) const {
  const auto& output = run == runs_ - 1 ? output_ : previous_output_;
  if (run < runs_ - 2 || !output) return {.lines = {}, .run = run, .over = true};
  return {.lines = output->lines(nanoseconds_now()), .run = run, .over = output->has_ended()};
}

}  // namespace berth::embedded
