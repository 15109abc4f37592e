#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/simulated/node/images.h"

namespace berth::simulated {

struct OutputLine {
  std::int64_t at = 0;  // nanoseconds since the epoch
  std::string text;
};

// What one run of a container writes. It follows from when it began and ended, so that nothing has
// to be kept.
class ContainerOutput {
 public:
  // `port`: that it says to listen on; empty: none.
  ContainerOutput(const std::string& name, const std::string& image, ImageBehaviour behaviour,
                  const std::string& port, std::int64_t began);

  void end(std::int64_t at) {
    if (!ended_) ended_ = at;
  }
  bool has_ended() const { return ended_.has_value(); }
  // What there is at `now`, oldest first; of what a talking one said the newest, as the kubelet's
  // log rotation leaves it.
  std::vector<OutputLine> lines(std::int64_t now) const;

 private:
  ImageBehaviour behaviour_;
  std::int64_t began_;
  std::optional<std::int64_t> ended_;
  std::vector<std::string> first_;
};

// The last of what an image that doesn't do well writes, as in the container's status.
std::string last_words(ImageBehaviour behaviour);
// Of the machine's clock.
std::int64_t nanoseconds_now();
// RFC 3339 with nine digits of a second: how the kubelet writes it with timestamps=true.
std::string nano_timestamp(std::int64_t at);

// What a pod's log subresource was asked for
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod).
struct LogRequest {
  std::string container;  // empty: the only one
  bool previous = false;
  bool follow = false;
  bool timestamps = false;
  std::optional<std::int64_t> since;  // nanoseconds since the epoch
  std::optional<std::uint64_t> tail_lines;
  std::optional<std::uint64_t> limit_bytes;
};

// Of the lines from `first` on those that were asked for, as text.
std::string shown_lines(const std::vector<OutputLine>& lines, const LogRequest& request,
                        size_t first);

}  // namespace berth::simulated
