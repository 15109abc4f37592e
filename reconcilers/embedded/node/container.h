#pragma once

#include <array>
#include <optional>
#include <string>

#include "reconcilers/embedded/apiserver/pod_tokens.h"
#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/node/runtime.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// What all containers share: the cluster, what runs them, and the speed of the cluster's clock.
struct Node {
  Store& store;
  Registry& registry;
  EventRecorder& events;
  Runtime& runtime;
  const PodTokens& tokens;
  const std::string name;  // the Node object's
  Timing timing;
};

// A look of the kubelet at one container.
struct Look {
  Node& node;
  const Json& pod;   // as it is now
  const Json& spec;  // the container's
  Moment now;
  bool may_resize = true;  // the node has room for what the pod requests now
  bool has_tokens = true;  // the pod's tokens are in its volumes, or it has none
};

// How one probe of the present run stands.
struct Probing {
  std::optional<Moment> next;  // when the next probe is due; nothing: none is
  bool under_way = false;
  bool succeeded = false;  // the last result
  int same = 0;            // how many results in a row were like the last one; 0: there is none
};

// One container of a pod: what a kubelet does with it, from the pull of its image to running,
// crashing, restarting and its end
// (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/). The caller must hold the
// store's mutex.
class Container {
 public:
  // Goes on where the kubelet of an earlier process was. `status` is the container's element of
  // status.containerStatuses, or null; `newest` is the highest number of a run that the runtime
  // has, or -1.
  void adopt(const Look& look, const Json& status, int newest);
  // Does what is due, and looks at how the runtime is getting on.
  void advance(const Look& look);
  // What leads to the end of a container is on the disk before it is told to end, so that it isn't
  // started again after a crash. What is ended because it has filled the disk can't wait for that.
  enum class Ending { known_after_a_crash, at_once };
  // Ends the container because its pod ends; to be called until it returns true. A preStop sleep
  // is part of `grace`.
  bool end(const Look& look, std::chrono::milliseconds grace, Ending ending);
  // When something is due next; nothing if only the runtime can change the container.
  std::optional<Moment> due() const { return due_; }
  // The container's element of status.containerStatuses.
  Json status(const Json& spec) const;

  bool ready() const { return ready_; }
  bool running() const { return stage_ == Stage::running || stage_ == Stage::killing; }
  bool has_run() const { return newest_ >= 0; }
  // Whether it is being given other limits than it was started with, and why that failed.
  bool is_resizing() const { return is_resizing_; }
  const std::string& resize_failure() const { return resize_failure_; }
  bool is_ending() const { return stop_at_.has_value(); }
  // The exit code of a container that won't be restarted; nothing for others.
  std::optional<int> exit_code() const;
  // The address of its present run; empty if it has none.
  const std::string& address() const { return address_; }
  // The present run, or the last one. Its number is -1 if there was none.
  Run run_of(const Json& pod, const Json& spec) const;
  // The run whose log is wanted: the present one or the last, or the one before. Throws Refusal 400
  // in the kubelet's words if there is no such run.
  Run logged_run(const Json& pod, const Json& spec, bool previous) const;

 private:
  enum class Stage {
    creating,
    pulling,
    pull_failed,
    pull_back_off,
    misconfigured,
    starting,
    start_failed,
    running,
    killing,  // a probe has failed too often
    exited,
    back_off,
    ended
  };

  void step(const Look& look);
  void prepare(const Look& look);
  void pull(const Look& look);
  void pulling(const Look& look);
  void pull_failed(const Look& look, const Pull& pull);
  void begin_pull_back_off(const Look& look);
  void start(const Look& look);
  void starting(const Look& look);
  void refused(const Look& look, const RunState& state);
  void begin_run(const Look& look, const RunState& state);
  void watch(const Look& look);
  void resize(const Look& look);
  void probe(const Look& look, ProbeKind kind);
  void begin_probe(const Look& look, ProbeKind kind, const Json& spec);
  void arm(const Look& look, ProbeKind kind);
  void conclude(const Look& look, ProbeKind kind, const Json& spec, const ProbeResult& result);
  void kill(const Look& look, const std::string& why, std::int64_t grace_seconds);
  bool stopped(const Look& look, RunState& state, Ending ending);
  void exit(const Look& look, const RunState& state);
  void after_exit(const Look& look);
  void begin_back_off(const Look& look, std::chrono::milliseconds passed);

  void wait(const std::string& reason, const std::string& message);
  void tell(const Look& look, EventType type, const std::string& reason,
            const std::string& message) const;
  Run next_run(const Look& look) const;
  Probing& probing(ProbeKind kind) { return probing_.at(static_cast<std::size_t>(kind)); }

  Stage stage_ = Stage::creating;
  std::optional<Moment> due_ = Moment::min();
  bool ready_ = false;
  bool started_ = false;  // runs, and has passed its startup probe
  bool passed_ = false;   // the present run has passed its readiness or startup probe before
  bool told_pulling_ = false;
  int number_ = 0;    // of the run that is being prepared, is present, or was the last
  int newest_ = -1;   // the highest number of a run that began
  int failures_ = 0;  // how often in a row it ended; long runs don't count
  int pull_failures_ = 0;
  Moment began_;                   // the present run
  std::optional<Moment> stop_at_;  // when it is told to end, while it is being ended
  std::chrono::milliseconds stop_grace_{0};
  bool stop_sent_ = false;
  std::array<Probing, 3> probing_;
  std::string address_;
  std::string started_at_;
  std::string container_id_;
  std::string image_;
  std::string image_id_;
  std::string waiting_reason_ = "ContainerCreating";
  std::string waiting_message_;
  Json resources_;  // what the present run has, as its spec named it
  bool is_resizing_ = false;
  std::string resize_failure_;
  Json last_end_;    // state.terminated of the run that ended last
  Json end_before_;  // state.terminated of the run before that
};

}  // namespace berth::embedded
