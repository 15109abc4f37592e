#pragma once

#include "controller/transport/http.h"
#include "reconcilers/embedded/node/kubelet.h"

namespace berth::embedded {

// The parameters of a request for a pod's log
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod).
struct LogRequest {
  std::string container;  // empty: the pod's only container
  bool previous = false;
  bool follow = false;
  bool timestamps = false;
  std::optional<std::int64_t> since;  // nanoseconds since the epoch
  std::optional<std::uint64_t> tail_lines;
  std::optional<std::uint64_t> limit_bytes;
};

// Writes a pod's log: what exists, and then, if it is followed, each line as it appears, until the
// container's run ends or the pod is gone. The log is read without the store's mutex, a part at a
// time.
class LogStream {
 public:
  // The caller must hold the store's mutex. Throws Refusal.
  LogStream(Store& store, const Kubelet& kubelet, Key pod, LogRequest request);
  // What the kubelet answers instead of the log of a run that it can't read; empty if it can.
  const std::string& unreadable() const { return unreadable_; }
  // Writes what there is, and says when to look again.
  api::Next write(const api::Sink& sink);

 private:
  static constexpr std::chrono::milliseconds tick{50};
  static constexpr std::size_t lines_at_once = 1'000;
  static constexpr std::size_t changes_at_once = 100;

  std::string text_of(const std::vector<OutputLine>& lines);
  api::Next wait();

  Store& store_;
  const Key key_;
  const LogRequest request_;
  std::string uid_;
  std::shared_ptr<RunLog> log_;
  std::string unreadable_;
  std::optional<std::uint64_t> bytes_left_;
  Watch watch_;
};

}  // namespace berth::embedded
