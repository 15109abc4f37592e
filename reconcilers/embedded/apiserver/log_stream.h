#pragma once

#include "controller/transport/http.h"
#include "reconcilers/embedded/node/kubelet.h"

namespace berth::embedded {

// Follows a pod's log: sends what exists, then each line as it appears, until the container's run
// ends or the pod is gone.
class LogStream {
 public:
  // The caller must hold the store's mutex. Throws Refusal.
  LogStream(Store& store, const Kubelet& kubelet, Key pod, const LogRequest& request);
  // Waits a moment for something to write, and writes all of it.
  api::Next write(const api::Sink& sink);

 private:
  static constexpr std::chrono::milliseconds tick{50};

  Store& store_;
  const Kubelet& kubelet_;
  const Key key_;
  LogRequest request_;
  std::string uid_;
  int run_ = 0;
  Watch watch_;
  std::optional<OutputLine> last_;  // the last line that was written
  size_t of_that_time_ = 0;         // how many lines with that line's time were written
};

}  // namespace berth::embedded
