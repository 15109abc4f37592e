#pragma once

#include <optional>
#include <set>

#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/node/simulated/container_output.h"
#include "reconcilers/embedded/node/simulated/images.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// What all containers share: the cluster, the speed of its clock, and the images on the node.
struct Node {
  Store& store;
  Registry& registry;
  EventRecorder& events;
  Images& images;
  Timing timing;
  std::set<std::string> pulled;
};

// What one run of a container has written.
struct PodLog {
  std::vector<OutputLine> lines;
  int run = 0;        // the number of the run, from 0
  bool over = false;  // the run has ended, so nothing more will come
};

// One container of a pod, from the pull of its image to running, crashing and restarting. The
// caller must hold the store's mutex.
class Container {
 public:
  // Does what is due. `pod` is the pod as it is now, with its IP in the status.
  void advance(Node& node, const Json& pod, const Json& spec, Moment now);
  // When something is due next; nothing if the container stays as it is.
  std::optional<Moment> due() const { return due_; }
  // The container's element of status.containerStatuses.
  Json status(const Json& spec) const;
  // Ends the container because its pod is deleted.
  void stop(Node& node, const Json& pod, const Json& spec);

  bool ready() const { return ready_; }
  bool running() const { return stage_ == Stage::running; }
  bool has_run() const {
    return running() || stage_ == Stage::ended || restarts_ > 0 || !last_end_.is_null();
  }
  // The exit code of a container that won't be restarted; nothing for others.
  std::optional<int> exit_code() const;
  // The output of the current run, or of the previous one. Throws Refusal 400 in the kubelet's
  // words if there is no such run.
  PodLog log(const Json& pod, const Json& spec, bool previous) const;
  // The output of the run with this number; empty and over if the node no longer has it.
  PodLog run_log(int run) const;

 private:
  enum class Stage {
    creating,
    pulling,
    pull_failed,
    pull_back_off,
    misconfigured,
    running,
    exited,
    back_off,
    ended
  };

  void prepare(Node& node, const Json& pod, const Json& spec, Moment now);
  void pull(Node& node, const Json& pod, const Json& spec, Moment now);
  void pulled(Node& node, const Json& pod, const Json& spec, Moment now);
  void start(Node& node, const Json& pod, const Json& spec, Moment now);
  void run(Node& node, const Json& pod, const Json& spec, Moment now);
  void probe(Node& node, const Json& pod, const Json& spec, Moment now);
  void fail_probe(Node& node, const Json& pod, const Json& spec, const char* field,
                  const std::string& name);
  void exit(Node& node, const Json& pod, const Json& spec, Moment now, int code,
            const std::string& reason);
  void after_exit(Node& node, const Json& pod, const Json& spec, Moment now);
  void wait(const std::string& reason, const std::string& message);
  void tell(Node& node, const Json& pod, const Json& spec, EventType type,
            const std::string& reason, const std::string& message);

  Stage stage_ = Stage::creating;
  std::optional<Moment> due_ = Moment::min();
  ImageBehaviour behaviour_ = ImageBehaviour::runs;
  bool ready_ = false;
  int restarts_ = 0;
  int pull_failures_ = 0;
  Moment started_;
  Moment up_;  // when the run listens, or crashes
  std::optional<Moment> killed_by_probe_;
  std::string started_at_;
  std::string container_id_;
  std::string waiting_reason_ = "ContainerCreating";
  std::string waiting_message_;
  Json last_end_;    // state.terminated of the run that ended last
  Json end_before_;  // state.terminated of the run before that
  // The last two runs; a node keeps no more.
  std::optional<ContainerOutput> output_;
  std::optional<ContainerOutput> previous_output_;
  int runs_ = 0;
};

}  // namespace berth::embedded
