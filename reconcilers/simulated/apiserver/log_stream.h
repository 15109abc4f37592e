#pragma once

#include <httplib.h>

#include "reconcilers/simulated/node/kubelet.h"

namespace berth::simulated {

// A pod's log that is followed: what there is, then each line as it comes, until the run of the
// container ends or the pod is gone.
class LogStream {
 public:
  // Needs the store's mutex. Throws Refusal.
  LogStream(Store& store, const Kubelet& kubelet, Key pod, const LogRequest& request);
  // Writes what there is, waiting for it a moment. False: the connection ends at once.
  bool write(httplib::DataSink& sink);

 private:
  static constexpr std::chrono::milliseconds tick{50};

  Store& store_;
  const Kubelet& kubelet_;
  const Key key_;
  LogRequest request_;
  std::string uid_;
  int run_ = 0;
  Watch watch_;
  std::optional<OutputLine> last_;  // that was written
  size_t of_that_time_ = 0;         // how many lines of its nanosecond were
};

}  // namespace berth::simulated
