#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace berth::reconcilers {

// How long a pass took, as the log has it.
using Took = std::chrono::duration<double, std::milli>;

// The result of one reconcile.
struct Outcome {
  enum class Kind {
    unchanged,
    applied,
    waiting,  // for something on the cluster: a namespace or pods that are terminating, a host name
    removed,
    refused,   // the API server refused an object; the row records its message
    orphaned,  // the cluster has objects without a row; they are left alone
  };
  Kind kind = Kind::unchanged;
  int writes = 0;  // the number of writes to the API server
  // When to reconcile again without an event; empty if only an event makes that necessary.
  std::optional<std::chrono::milliseconds> again;
  std::string reason;     // what is waited for, or the problem that the row records
  bool recorded = false;  // this reconcile changed what the row says

  static Outcome waiting(std::string what, std::chrono::milliseconds again) {
    return {Kind::waiting, 0, again, std::move(what), false};
  }
};

// How often something that should end by itself is looked at again, in case its event is lost.
inline constexpr std::chrono::milliseconds look_again{2'000};

}  // namespace berth::reconcilers
