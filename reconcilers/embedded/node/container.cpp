#include "reconcilers/embedded/node/container.h"

#include <algorithm>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/sooner.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/node/variables.h"

namespace berth::embedded {
namespace {

using std::chrono::milliseconds;

// For pulls and for restarts, in seconds (MaxContainerBackOff of the kubelet).
constexpr int first_back_off = 10;
constexpr int longest_back_off = 300;
// A run that lasted for this many seconds starts the back-off anew.
constexpr int long_run = 2 * longest_back_off;
// Until a configuration that lacks something, or a container that couldn't be created, is tried
// again.
constexpr int config_retry = 2;
constexpr int create_retry = 10;
// A container's life has at most this many steps that take no time.
constexpr int most_steps = 8;
// The kubelet gives a container this many seconds at least, however long its preStop sleep was
// (minimumGracePeriodInSeconds).
constexpr int shortest_grace = 2;
// A runtime that hasn't ended a container this many seconds after its grace is over isn't waited
// for: the pod's removal ends what is left.
constexpr int stop_patience = 60;

int back_off_seconds(int failures) {
  return failures > 5 ? longest_back_off
                      : std::min(longest_back_off, first_back_off << (failures - 1));
}

std::string shown_seconds(int seconds) {
  if (seconds < 60) return std::to_string(seconds) + "s";
  return std::to_string(seconds / 60) + "m" + std::to_string(seconds % 60) + "s";
}

// What the kubelet says of a container that its runtime no longer knows.
RunState lost() {
  RunState state;
  state.stage = RunState::Stage::ended;
  state.reason = "ContainerStatusUnknown";
  state.message = "The container could not be located when the pod was terminated";
  state.exit_code = 137;
  return state;
}

// A duration as Go writes it.
std::string shown_duration(milliseconds took) {
  if (took < std::chrono::seconds(1)) return std::to_string(took.count()) + "ms";
  const auto minutes = std::chrono::floor<std::chrono::minutes>(took);
  std::string text = minutes.count() > 0 ? std::to_string(minutes.count()) + "m" : "";
  const auto rest = took - minutes;
  text += std::to_string(rest.count() / 1000);
  if (const auto fraction = rest.count() % 1000; fraction > 0) {
    std::string digits = std::to_string(1000 + fraction).substr(1);
    while (digits.ends_with('0')) digits.pop_back();
    text += "." + digits;
  }
  return text + "s";
}

PullPolicy policy_of(const Json& spec) {
  const std::string policy = text_at(spec, "imagePullPolicy");
  if (policy == "Always") return PullPolicy::always;
  return policy == "Never" ? PullPolicy::never : PullPolicy::if_not_present;
}

const char* field_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::startup:
      return "/startupProbe";
    case ProbeKind::readiness:
      return "/readinessProbe";
    case ProbeKind::liveness:
      return "/livenessProbe";
  }
  return "";
}

const char* name_of_probe(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::startup:
      return "Startup";
    case ProbeKind::readiness:
      return "Readiness";
    case ProbeKind::liveness:
      return "Liveness";
  }
  return "";
}

int port_number(const Json& spec, const Json& port) {
  if (port.is_number_integer()) return port.get<int>();
  for (const Json& one : at_path(spec, "/ports"))
    if (at_path(one, "/name") == port) return static_cast<int>(number_at(one, "/containerPort", 0));
  return 0;
}

int probed_port(const Json& spec, const Json& probe) {
  for (const char* action : {"/httpGet/port", "/tcpSocket/port", "/grpc/port"})
    if (const Json& port = at_path(probe, action); !port.is_null()) return port_number(spec, port);
  return 0;
}

// How long ago the machine's clock showed this time; zero if that can't be read.
milliseconds since(const std::string& time) {
  const auto at = parse_iso8601(time);
  if (!at) return milliseconds(0);
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(system_time() - *at));
}

std::string words_about(const Json& pod) {
  return name_of(pod) + "_" + namespace_of(pod) + "(" + uid_of(pod) + ")";
}

}  // namespace

void Container::tell(const Look& look, EventType type, const std::string& reason,
                     const std::string& message) const {
  look.node.events.record(look.pod, "kubelet", {type, reason, message, text_at(look.spec, "name")});
}

void Container::wait(const std::string& reason, const std::string& message) {
  waiting_reason_ = reason;
  waiting_message_ = message;
}

Run Container::next_run(const Look& look) const {
  return {namespace_of(look.pod), name_of(look.pod), uid_of(look.pod), text_at(look.spec, "name"),
          number_};
}

Run Container::run_of(const Json& pod, const Json& spec) const {
  return {namespace_of(pod), name_of(pod), uid_of(pod), text_at(spec, "name"), newest_};
}

void Container::advance(const Look& look) {
  for (int steps = 0; steps < most_steps; ++steps) {
    const Stage before = stage_;
    step(look);
    if (stage_ == before) return;
  }
}

void Container::step(const Look& look) {
  switch (stage_) {
    case Stage::pulling:
      return pulling(look);
    case Stage::starting:
      return starting(look);
    case Stage::running:
      return watch(look);
    case Stage::killing: {
      RunState state;
      if (stopped(look, state, Ending::known_after_a_crash))
        exit(look, state.stage == RunState::Stage::ended ? state : lost());
      return;
    }
    case Stage::ended:
      return due_.reset();
    default:
      break;
  }
  if (!due_ || look.now < *due_) return;
  switch (stage_) {
    case Stage::creating:
    case Stage::misconfigured:
      return prepare(look);
    case Stage::pull_failed:
      return begin_pull_back_off(look);
    case Stage::pull_back_off:
      return pull(look);
    case Stage::start_failed:
    case Stage::exited:
      return after_exit(look);
    case Stage::back_off:
      ++number_;
      return prepare(look);
    default:
      return;
  }
}

// Images. -----------------------------------------------------------------------------------------

void Container::prepare(const Look& look) {
  // The kubelet has said why.
  if (!look.has_tokens) {
    due_ = look.now + config_retry * look.node.timing.second;
    return;
  }
  if (const std::string failed = failed_mount(look.node.store, look.pod); !failed.empty()) {
    look.node.events.record(look.pod, "kubelet", {EventType::warning, "FailedMount", failed, ""});
    due_ = look.now + config_retry * look.node.timing.second;
    return;
  }
  pull(look);
}

void Container::pull(const Look& look) {
  const std::string image = text_at(look.spec, "image");
  const Logins logins = logins_of(look.node.store, look.pod, image);
  std::string missing;
  for (const std::string& name : logins.missing) missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    look.node.events.record(look.pod, "kubelet",
                            {EventType::warning, "FailedToRetrieveImagePullSecret",
                             "Unable to retrieve some image pull secrets (" + missing +
                                 "); attempting to pull the image may not succeed.",
                             ""});
  told_pulling_ = false;
  look.node.runtime.pull(next_run(look), {image, policy_of(look.spec), logins.found}, look.now);
  stage_ = Stage::pulling;
}

void Container::pulling(const Look& look) {
  std::optional<Moment> again;
  const Pull pull = look.node.runtime.pull_state(next_run(look), look.now, again);
  due_ = again;
  const std::string image = text_at(look.spec, "image");
  const bool was_tried = pull.stage == Pull::Stage::under_way ||
                         pull.stage == Pull::Stage::pulled ||
                         (pull.stage == Pull::Stage::failed && pull.reason == "ErrImagePull");
  if (was_tried && !told_pulling_) {
    told_pulling_ = true;
    tell(look, EventType::normal, "Pulling", "Pulling image \"" + image + "\"");
  }
  switch (pull.stage) {
    case Pull::Stage::looking:
    case Pull::Stage::under_way:
      return;
    case Pull::Stage::failed:
      return pull_failed(look, pull);
    case Pull::Stage::present:
      tell(look, EventType::normal, "Pulled",
           "Container image \"" + image + "\" already present on machine");
      break;
    case Pull::Stage::pulled: {
      const std::string took = shown_duration(pull.took);
      tell(look, EventType::normal, "Pulled",
           "Successfully pulled image \"" + image + "\" in " + took + " (" + took +
               " including waiting). Image size: " + std::to_string(pull.bytes) + " bytes.");
      break;
    }
  }
  pull_failures_ = 0;
  start(look);
}

void Container::pull_failed(const Look& look, const Pull& pull) {
  const std::string image = text_at(look.spec, "image");
  ++pull_failures_;
  if (pull.reason == "ErrImagePull")
    tell(look, EventType::warning, "Failed",
         "Failed to pull image \"" + image + "\": " + pull.message);
  else
    tell(look, EventType::warning,
         pull.reason == "InvalidImageName" ? "InspectFailed" : pull.reason, pull.message);
  tell(look, EventType::warning, "Failed", "Error: " + pull.reason);
  wait(pull.reason, pull.message);
  stage_ = Stage::pull_failed;
  due_ = look.now + look.node.timing.second;
}

void Container::begin_pull_back_off(const Look& look) {
  const std::string image = text_at(look.spec, "image");
  // Only what a registry answered may be another answer soon.
  if (waiting_reason_ == "ErrImagePull") {
    const std::string why = waiting_message_;
    tell(look, EventType::normal, "BackOff", "Back-off pulling image \"" + image + "\"");
    tell(look, EventType::warning, "Failed", "Error: ImagePullBackOff");
    wait("ImagePullBackOff", "Back-off pulling image \"" + image + "\": ErrImagePull: " + why);
  }
  stage_ = Stage::pull_back_off;
  due_ = look.now + back_off_seconds(pull_failures_) * look.node.timing.second;
}

// The start. --------------------------------------------------------------------------------------

void Container::start(const Look& look) {
  Variables variables = variables_of(look.node.store, look.pod, look.spec);
  if (!variables.missing.empty()) {
    tell(look, EventType::warning, "Failed", "Error: " + variables.missing);
    wait("CreateContainerConfigError", variables.missing);
    stage_ = Stage::misconfigured;
    due_ = look.now + config_retry * look.node.timing.second;
    return;
  }
  // What leads to this must be known after a crash; what leads to a command that may run only once,
  // after a power cut, too.
  const bool is_once = text_at(look.pod["spec"], "restartPolicy") == "Never";
  if (is_once ? !look.node.store.sync() : !look.node.store.save()) {
    stage_ = Stage::misconfigured;
    due_ = look.now + config_retry * look.node.timing.second;
    return;
  }
  const Run run = next_run(look);
  if (number_ >= 2) {
    Run older = run;
    older.number = number_ - 2;
    look.node.runtime.remove(older);
  }
  resources_ = at_path(look.spec, "/resources");
  look.node.runtime.start(run,
                          {look.pod, look.spec, std::move(variables.env),
                           std::move(variables.command), std::move(variables.args)},
                          look.now);
  stage_ = Stage::starting;
}

void Container::starting(const Look& look) {
  std::optional<Moment> again;
  const RunState state = look.node.runtime.state(next_run(look), look.now, again);
  due_ = again;
  switch (state.stage) {
    case RunState::Stage::starting:
      return;
    case RunState::Stage::unknown:  // the runtime has lost it
      stage_ = Stage::misconfigured;
      due_ = look.now + look.node.timing.second;
      return;
    case RunState::Stage::refused:
      return refused(look, state);
    case RunState::Stage::running:
    case RunState::Stage::ended:
      return begin_run(look, state);
  }
}

void Container::refused(const Look& look, const RunState& state) {
  wait(state.reason, state.message);
  if (state.reason != "RunContainerError") {
    tell(look, EventType::warning, "Failed", "Error: " + state.message);
    stage_ = Stage::misconfigured;
    const bool config = state.reason == "CreateContainerConfigError";
    due_ = look.now + (config ? config_retry : create_retry) * look.node.timing.second;
    return;
  }
  // There is a container, which counts as a run that has ended.
  constexpr int start_error = 128;
  tell(look, EventType::normal, "Created", "Created container: " + text_at(look.spec, "name"));
  tell(look, EventType::warning, "Failed", "Error: " + state.message);
  newest_ = number_;
  container_id_ = state.container_id;
  image_ = state.image;
  image_id_ = state.image_id;
  end_before_ = last_end_;
  last_end_ = {{"exitCode", start_error},   {"reason", "StartError"},
               {"message", state.message},  {"startedAt", "1970-01-01T00:00:00Z"},
               {"finishedAt", timestamp()}, {"containerID", container_id_}};
  const bool once = text_at(look.pod["spec"], "restartPolicy") == "Never";
  stage_ = once ? Stage::ended : Stage::start_failed;
  due_ = once ? std::nullopt : std::optional(look.now + look.node.timing.second);
}

void Container::begin_run(const Look& look, const RunState& state) {
  const std::string name = text_at(look.spec, "name");
  tell(look, EventType::normal, "Created", "Created container: " + name);
  tell(look, EventType::normal, "Started", "Started container " + name);
  stage_ = Stage::running;
  newest_ = number_;
  began_ = look.now;
  started_at_ = state.started_at;
  container_id_ = state.container_id;
  image_ = state.image;
  image_id_ = state.image_id;
  address_ = state.address;
  passed_ = false;
  stop_at_.reset();
  probing_.fill({});
  started_ = !look.spec.contains("startupProbe");
  ready_ = started_ && !look.spec.contains("readinessProbe");
  if (!started_) return arm(look, ProbeKind::startup);
  arm(look, ProbeKind::readiness);
  arm(look, ProbeKind::liveness);
}

// A running container. ----------------------------------------------------------------------------

void Container::watch(const Look& look) {
  std::optional<Moment> again;
  const RunState state = look.node.runtime.state(next_run(look), look.now, again);
  due_ = again;
  if (state.stage == RunState::Stage::ended) return exit(look, state);
  if (state.stage == RunState::Stage::unknown) return exit(look, lost());
  if (!state.address.empty()) address_ = state.address;
  resize(look);
  for (const ProbeKind kind : {ProbeKind::startup, ProbeKind::readiness, ProbeKind::liveness})
    if (stage_ == Stage::running) probe(look, kind);
}

// Gives the container what its spec has come to name while it runs.
void Container::resize(const Look& look) {
  const Json& wanted = at_path(look.spec, "/resources");
  is_resizing_ = false;
  resize_failure_.clear();
  if (wanted == resources_ || !look.may_resize) return;
  const Resize change = look.node.runtime.resize(next_run(look), look.spec, look.now);
  is_resizing_ = change.stage != Resize::Stage::done;
  if (change.stage == Resize::Stage::failed) resize_failure_ = change.message;
  if (change.stage == Resize::Stage::under_way)
    due_ = sooner(due_, look.now + look.node.timing.second);
  if (change.stage != Resize::Stage::done) return;
  resources_ = wanted;
  tell(look, EventType::normal, "ResizeCompleted",
       "Container " + text_at(look.spec, "name") + " has its new resources");
}

// The kubelet probes at once, if there is no delay, and then once in each period.
void Container::arm(const Look& look, ProbeKind kind) {
  const Json& probe = at_path(look.spec, field_of(kind));
  if (probe.is_null()) return;
  const auto delay = number_at(probe, "/initialDelaySeconds", 0) * look.node.timing.second;
  probing(kind).next = std::max(look.now, began_ + delay);
}

void Container::probe(const Look& look, ProbeKind kind) {
  Probing& now = probing(kind);
  if (!now.under_way && !now.next) return;
  const Json& spec = at_path(look.spec, field_of(kind));
  // A result may be there at once, and the next probe may be due then.
  for (int looks = 0; looks < 2; ++looks) {
    if (now.under_way) {
      std::optional<Moment> again;
      const Run run = next_run(look);
      const auto result = look.node.runtime.probe_result(run, kind, look.now, again);
      if (!result) {
        due_ = sooner(due_, again);
        return;
      }
      now.under_way = false;
      conclude(look, kind, spec, *result);
      if (stage_ != Stage::running) return;
      if (result->succeeded &&
          (kind == ProbeKind::startup ? started_ : look.node.runtime.passes_for_ever(run, kind)) &&
          (kind != ProbeKind::readiness || ready_))
        now.next.reset();
    }
    if (!now.next) return;
    if (look.now < *now.next) break;
    begin_probe(look, kind, spec);
  }
  due_ = sooner(due_, now.next);
}

void Container::begin_probe(const Look& look, ProbeKind kind, const Json& spec) {
  const milliseconds second = look.node.timing.second;
  const milliseconds period = number_at(spec, "/periodSeconds", 10) * second;
  ProbeRequest request{.probe = spec, .port = probed_port(look.spec, spec)};
  request.timeout = number_at(spec, "/timeoutSeconds", 1) * second;
  if (kind != ProbeKind::liveness && !passed_) request.patience = period;
  look.node.runtime.probe(next_run(look), kind, request, look.now);
  probing(kind).under_way = true;
  probing(kind).next = look.now + std::max(period, milliseconds(1));
}

void Container::conclude(const Look& look, ProbeKind kind, const Json& spec,
                         const ProbeResult& result) {
  Probing& now = probing(kind);
  now.same = now.same > 0 && now.succeeded == result.succeeded ? now.same + 1 : 1;
  now.succeeded = result.succeeded;
  if (!result.succeeded)
    tell(look, EventType::warning, "Unhealthy",
         std::string(name_of_probe(kind)) + " probe failed: " + result.message);
  const char* threshold = result.succeeded ? "/successThreshold" : "/failureThreshold";
  if (now.same < number_at(spec, threshold, result.succeeded ? 1 : 3)) return;
  const std::int64_t grace =
      number_at(spec, "/terminationGracePeriodSeconds",
                number_at(look.pod, "/spec/terminationGracePeriodSeconds", 30));
  if (kind == ProbeKind::readiness) {
    ready_ = result.succeeded;
    passed_ = passed_ || result.succeeded;
    // A start of its own gives it another network.
    if (result.no_network) kill(look, "has no network", grace);
    return;
  }
  if (!result.succeeded)
    return kill(look, kind == ProbeKind::startup ? "failed startup probe" : "failed liveness probe",
                grace);
  if (kind != ProbeKind::startup || started_) return;
  started_ = true;
  passed_ = true;
  ready_ = !look.spec.contains("readinessProbe");
  arm(look, ProbeKind::readiness);
  arm(look, ProbeKind::liveness);
}

// The end. ----------------------------------------------------------------------------------------

void Container::kill(const Look& look, const std::string& why, std::int64_t grace_seconds) {
  tell(look, EventType::normal, "Killing",
       "Container " + text_at(look.spec, "name") + " " + why + ", will be restarted");
  stage_ = Stage::killing;
  stop_at_.reset();
  stop_grace_ = grace_seconds * look.node.timing.second;
}

// Goes on with ending the present run. Returns true once it has ended, or isn't waited for any
// more.
bool Container::stopped(const Look& look, RunState& state, Ending ending) {
  const milliseconds second = look.node.timing.second;
  if (!stop_at_) {
    const milliseconds sleep =
        look.node.runtime.serves() && stage_ != Stage::starting
            ? std::min(stop_grace_,
                       milliseconds(number_at(look.spec, "/lifecycle/preStop/sleep/seconds", 0) *
                                    second))
            : milliseconds(0);
    milliseconds passed{0};
    // The kubelet of an earlier process may have begun.
    if (const std::string ends = text_at(look.pod["metadata"], "deletionTimestamp"); !ends.empty())
      if (const auto at = parse_iso8601(ends))
        passed = std::chrono::duration_cast<milliseconds>(
            system_time() - *at +
            std::chrono::seconds(number_at(look.pod, "/metadata/deletionGracePeriodSeconds", 0)));
    // Time stamps are whole seconds, so that a second may seem to have passed at once.
    const bool late = passed > std::chrono::seconds(2);
    stop_at_ = look.now + (late ? std::max(milliseconds(0), sleep - passed) : sleep);
    stop_grace_ = std::max<milliseconds>(stop_grace_ - sleep, shortest_grace * second);
    stop_sent_ = false;
  }
  std::optional<Moment> again;
  state = look.node.runtime.state(next_run(look), look.now, again);
  using State = RunState::Stage;
  if (state.stage == State::ended || state.stage == State::unknown || state.stage == State::refused)
    return true;
  due_ = sooner(again, stop_at_);
  if (look.now < *stop_at_) return false;
  if (!stop_sent_) {
    if (!look.node.store.save() && ending == Ending::known_after_a_crash) {
      due_ = look.now + second;
      return false;
    }
    stop_sent_ = true;
    look.node.runtime.stop(next_run(look), stop_grace_, look.now);
    state = look.node.runtime.state(next_run(look), look.now, again);
    if (state.stage == State::ended || state.stage == State::unknown) return true;
  }
  const Moment last = *stop_at_ + stop_grace_ + stop_patience * second;
  due_ = sooner(again, last);
  if (look.now < last) return false;
  log::warning("a container doesn't end", {{"pod", words_about(look.pod)}});
  return true;
}

bool Container::end(const Look& look, milliseconds grace, Ending ending) {
  const bool has_something = running() || stage_ == Stage::starting;
  if (!has_something) {
    due_.reset();
    return true;
  }
  if (!stop_at_) {
    if (stage_ == Stage::running)
      tell(look, EventType::normal, "Killing", "Stopping container " + text_at(look.spec, "name"));
    stop_grace_ = grace;
  }
  RunState state;
  if (!stopped(look, state, ending)) return false;
  // It may have run before the kubelet saw it run.
  if (stage_ == Stage::starting && state.stage == RunState::Stage::ended &&
      !state.started_at.empty())
    begin_run(look, state);
  if (running()) exit(look, state.stage == RunState::Stage::ended ? state : lost());
  stage_ = Stage::ended;
  ready_ = false;
  due_.reset();
  return true;
}

void Container::exit(const Look& look, const RunState& state) {
  ready_ = false;
  started_ = false;
  is_resizing_ = false;
  resize_failure_.clear();
  address_.clear();
  stop_at_.reset();
  end_before_ = last_end_;
  last_end_ = {{"exitCode", state.exit_code},
               {"reason", state.reason.empty() ? (state.exit_code == 0 ? "Completed" : "Error")
                                               : state.reason},
               {"startedAt", state.started_at.empty() ? started_at_ : state.started_at},
               {"finishedAt", state.finished_at.empty() ? timestamp() : state.finished_at},
               {"containerID", container_id_}};
  // With the policy `File`, the status has a message only if the program writes that file.
  if (!state.message.empty() &&
      (state.reason == "ContainerStatusUnknown" ||
       (state.exit_code != 0 &&
        text_at(look.spec, "terminationMessagePolicy") == "FallbackToLogsOnError")))
    last_end_["message"] = state.message;
  if (look.now - began_ >= long_run * look.node.timing.second) failures_ = 0;
  const std::string policy = text_at(look.pod["spec"], "restartPolicy");
  const bool once = policy == "Never" || (policy == "OnFailure" && state.exit_code == 0);
  stage_ = once ? Stage::ended : Stage::exited;
  due_ = once ? std::nullopt : std::optional(look.now + look.node.timing.second);
}

// The first restart happens at once; before further ones the container waits, longer each time.
void Container::after_exit(const Look& look) {
  if (failures_++ == 0) {
    ++number_;
    wait("ContainerCreating", "");
    stage_ = Stage::creating;
    return prepare(look);
  }
  begin_back_off(look, milliseconds(0));
}

void Container::begin_back_off(const Look& look, milliseconds passed) {
  const int seconds = back_off_seconds(failures_ - 1);
  const std::string name = text_at(look.spec, "name");
  const std::string whose = words_about(look.pod);
  if (passed == milliseconds(0))
    tell(look, EventType::warning, "BackOff",
         "Back-off restarting failed container " + name + " in pod " + whose);
  wait("CrashLoopBackOff", "back-off " + shown_seconds(seconds) +
                               " restarting failed container=" + name + " pod=" + whose);
  stage_ = Stage::back_off;
  due_ = look.now +
         std::max(milliseconds(0), milliseconds(seconds * look.node.timing.second) - passed);
}

// After a restart of berthd. ----------------------------------------------------------------------

void Container::adopt(const Look& look, const Json& status, int newest) {
  const int counted = static_cast<int>(number_at(status, "/restartCount", 0));
  const Json& given = at_path(status, "/resources");
  resources_ = given.is_null() ? at_path(look.spec, "/resources") : given;
  number_ = std::max(counted, newest);
  const Json& ended = at_path(status, "/state/terminated");
  last_end_ = ended.is_null() ? at_path(status, "/lastState/terminated") : ended;
  if (!ended.is_null()) end_before_ = at_path(status, "/lastState/terminated");
  container_id_ = text_at(status, "containerID");
  image_ = text_at(status, "image");
  image_id_ = text_at(status, "imageID");
  newest_ = number_ - 1;
  due_ = look.now;
  // What ended long ago has been followed by a long run, after which the back-off begins anew.
  if (!last_end_.is_null() &&
      since(text_at(last_end_, "finishedAt")) < long_run * look.node.timing.second)
    failures_ = counted;
  const Json& waiting = at_path(status, "/state/waiting");
  const bool has_ended = !last_end_.is_null() && text_at(last_end_, "containerID") == container_id_;
  if (has_ended && newest <= counted) {
    newest_ = number_;
    if (!ended.is_null()) {
      const std::string policy = text_at(look.pod["spec"], "restartPolicy");
      const bool once =
          policy == "Never" || (policy == "OnFailure" && number_at(last_end_, "/exitCode", 1) == 0);
      stage_ = once ? Stage::ended : Stage::exited;
      return;
    }
    if (text_at(waiting, "reason") == "CrashLoopBackOff") {
      failures_ = std::max(2, counted + 1);
      return begin_back_off(look,
                            std::max(milliseconds(1), since(text_at(last_end_, "finishedAt"))));
    }
    failures_ = counted + 1;
    ++number_;
    return;
  }
  const Json& running = at_path(status, "/state/running");
  if (!running.is_null() && newest <= counted) {
    newest_ = number_;
    stage_ = Stage::running;
    started_at_ = text_at(running, "startedAt");
    began_ = look.now - since(started_at_);
    ready_ = at_path(status, "/ready") == true;
    started_ = at_path(status, "/started") == true;
    passed_ = ready_;
    address_ = text_at(look.pod["status"], "podIP");
    if (!started_) return arm(look, ProbeKind::startup);
    arm(look, ProbeKind::readiness);
    return arm(look, ProbeKind::liveness);
  }
  // The runtime was told to start a run, and the kubelet hasn't seen what became of it.
  if (newest == number_) {
    stage_ = Stage::starting;
    return;
  }
  if (!waiting.is_null()) wait(text_at(waiting, "reason"), text_at(waiting, "message"));
}

// What others see. --------------------------------------------------------------------------------

std::optional<int> Container::exit_code() const {
  if (stage_ != Stage::ended) return std::nullopt;
  return static_cast<int>(number_at(last_end_, "/exitCode", 0));
}

Json Container::status(const Json& spec) const {
  const bool has_container = !container_id_.empty();
  Json status{{"name", text_at(spec, "name")},
              {"image", has_container ? image_ : text_at(spec, "image")},
              {"imageID", has_container ? image_id_ : ""},
              {"ready", ready_},
              {"started", running() && started_},
              {"restartCount", std::max(newest_, 0)},
              {"lastState", Json::object()},
              {"state", Json::object()}};
  if (has_container) status["containerID"] = container_id_;
  if (running() && !resources_.is_null()) status["resources"] = resources_;
  const bool just_ended =
      !last_end_.is_null() && (stage_ == Stage::exited || stage_ == Stage::ended);
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

Run Container::logged_run(const Json& pod, const Json& spec, bool previous) const {
  Run run = run_of(pod, spec);
  const std::string name = run.container;
  if (previous) {
    // Between two runs, the run that has ended is both the last one and the previous one of the
    // next.
    const bool between =
        newest_ >= 0 && !running() && stage_ != Stage::exited && stage_ != Stage::ended;
    if (!between) --run.number;
    if (run.number < 0)
      throw bad_request("previous terminated container \"" + name + "\" in pod \"" + name_of(pod) +
                        "\" not found");
    return run;
  }
  if (newest_ >= 0) return run;
  const bool pulling = stage_ == Stage::pull_failed || stage_ == Stage::pull_back_off;
  throw bad_request("container \"" + name + "\" in pod \"" + name_of(pod) + "\"" +
                    (pulling ? " is waiting to start: trying and failing to pull image"
                             : " is waiting to start: " + waiting_reason_));
}

}  // namespace berth::embedded
