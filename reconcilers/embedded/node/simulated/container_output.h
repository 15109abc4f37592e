#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/embedded/node/output.h"
#include "reconcilers/embedded/node/simulated/images.h"

namespace berth::embedded {

// What one run of a container writes. It is computed from when the run began and ended, so nothing
// has to be stored.
class ContainerOutput {
 public:
  // `port` is the port that the container claims to listen on; empty if it doesn't listen.
  ContainerOutput(const std::string& name, const std::string& image, ImageBehaviour behaviour,
                  const std::string& port, std::int64_t began);

  void end(std::int64_t at) {
    if (!ended_) ended_ = at;
  }
  bool has_ended() const { return ended_.has_value(); }
  // The lines that exist at the time `now`, oldest first. Of a talkative container only the newest
  // lines are left, as after the kubelet's log rotation.
  std::vector<OutputLine> lines(std::int64_t now) const;

 private:
  ImageBehaviour behaviour_;
  std::int64_t began_;
  std::optional<std::int64_t> ended_;
  std::vector<std::string> first_;
};

// The end of what a failing image writes, as it appears in the container's status.
std::string last_words(ImageBehaviour behaviour);

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

// The requested ones of the lines from `first` on, as text.
std::string shown_lines(const std::vector<OutputLine>& lines, const LogRequest& request,
                        size_t first);

}  // namespace berth::embedded
