#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace berth::reconcilers {

// What a reconcile came to.
struct Outcome {
  enum class Kind {
    unchanged,
    applied,
    waiting,  // for the cluster: a namespace or pods that are leaving, a host name
    removed,
    refused,   // by the API server: the row says so
    orphaned,  // objects without a row, which are left alone
  };
  Kind kind = Kind::unchanged;
  int writes = 0;  // to the API server
  std::optional<std::chrono::milliseconds> again;
  std::string reason;     // what is waited for, or what the row says
  bool recorded = false;  // the row says something else now

  static Outcome waiting(std::string what, std::chrono::milliseconds again) {
    return {Kind::waiting, 0, again, std::move(what), false};
  }
};

// How often something that should end by itself is looked at, should its event get lost.
inline constexpr std::chrono::milliseconds look_again{2'000};

}  // namespace berth::reconcilers
