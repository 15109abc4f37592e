#pragma once

#include <optional>
#include <set>

#include "reconcilers/simulated/controllers/event_recorder.h"
#include "reconcilers/simulated/node/container_output.h"
#include "reconcilers/simulated/node/images.h"
#include "reconcilers/simulated/timing.h"

namespace berth::simulated {

// What containers share: the cluster, its clock's speed, and which images the node has.
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
  int run = 0;        // which one, from 0
  bool over = false;  // nothing comes behind
};

// One container of a pod on its way from the image's pull to running, crashing and starting again.
// Needs the store's mutex.
class Container {
 public:
  // Does what is due; the pod as it is now, with its IP in the status.
  void advance(Node& node, const Json& pod, const Json& spec, Moment now);
  // When something is due next; nothing: it stays like this.
  std::optional<Moment> due() const { return due_; }
  // The element of status.containerStatuses.
  Json status(const Json& spec) const;
  // The container's end because its pod is deleted.
  void stop(Node& node, const Json& pod, const Json& spec);

  bool ready() const { return ready_; }
  bool running() const { return stage_ == Stage::running; }
  bool has_run() const {
    return running() || stage_ == Stage::ended || restarts_ > 0 || !last_end_.is_null();
  }
  // The exit code of one that isn't started again.
  std::optional<int> exit_code() const;
  // What it wrote; in the run before the last with `previous`. Throws Refusal 400 in the words of
  // the kubelet where there is no such container.
  PodLog log(const Json& pod, const Json& spec, bool previous) const;
  // Of that run: empty and over where the node has it no more.
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
  std::optional<Moment> killed_by_probe_;
  std::string started_at_;
  std::string container_id_;
  std::string waiting_reason_ = "ContainerCreating";
  std::string waiting_message_;
  Json last_end_;    // state.terminated of the one that ended last
  Json end_before_;  // and of the one before it
  // Of its runs the last two: a node keeps no more.
  std::optional<ContainerOutput> output_;
  std::optional<ContainerOutput> previous_output_;
  int runs_ = 0;
};

}  // namespace berth::simulated
