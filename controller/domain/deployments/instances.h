#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"

// The containers of a deployment, as the API shows them and the reconcilers see them on the
// cluster. Nothing of them is stored in the database.
namespace berth::instances {

enum class State { waiting, running, ended };
constexpr auto texts_of(State) { return EnumTexts<State::ended>{"waiting", "running", "ended"}; }

// One container. After a rollout that failed, there is the new one beside the one that serves.
struct Instance {
  std::string name;  // of its pod
  std::string process = "web";
  std::string image;                 // that it runs
  std::string version = {};          // the same for containers that were made alike; may be empty
  std::string phase = "scheduling";  // scheduling, pulling, starting, probing, ready or ending
  State state = State::waiting;
  std::string reason;      // why it waits or has ended, in the kubelet's word; may be empty
  std::string node;        // may be empty
  bool is_newest = false;  // whether it is what the deployment is now meant to run
  bool is_ready = false;
  bool has_log = false;
  std::int64_t restarts = 0;
  std::optional<Instant> started_at = {};  // of its present run
  std::optional<Instant> made_at = {};
};

inline constexpr std::size_t max_instances = 100;

// Returns the deployment's containers from memory, newest first, at most max_instances.
using Of = std::function<std::vector<Instance>(const std::string& deployment_id)>;

}  // namespace berth::instances
