#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/output.h"
#include "reconcilers/embedded/node/simulated/images.h"

namespace berth::embedded {

// What one run of a container writes. It is computed from when the run began and ended, so nothing
// has to be stored. Thread-safe.
class ContainerOutput {
 public:
  // `port` is the port that the container claims to listen on; empty if it doesn't listen. If
  // it runs a command, `lines` is all that it writes.
  ContainerOutput(std::string name, std::string image, ImageBehaviour behaviour, std::string port,
                  std::int64_t began, std::optional<std::vector<std::string>> lines = {});

  void end(std::int64_t at);
  bool has_ended() const { return ended_ != 0; }
  // Lines have numbers from 0. The first line that exists at the time `now`, and the one after the
  // last: of a talkative container only the newest lines are left, as after the kubelet's log
  // rotation.
  std::uint64_t first(std::int64_t now) const;
  std::uint64_t behind(std::int64_t now) const;
  OutputLine line(std::uint64_t number) const;

  const std::string& image() const { return image_; }
  const std::string& port() const { return port_; }
  ImageBehaviour behaviour() const { return behaviour_; }

 private:
  std::uint64_t talks(std::int64_t now) const;
  std::vector<std::string> words() const;

  const std::string name_;
  const std::string image_;
  const ImageBehaviour behaviour_;
  const std::string port_;
  const std::int64_t began_;
  const std::optional<std::vector<std::string>> lines_;
  std::atomic<std::int64_t> ended_ = 0;  // 0: not yet
};

// Reads what a simulated run wrote.
std::shared_ptr<RunLog> log_of(std::shared_ptr<const ContainerOutput> output,
                               std::optional<std::uint64_t> tail_lines);

// The end of what a failing image writes, as it appears in the container's status.
std::string last_words(ImageBehaviour behaviour);

}  // namespace berth::embedded
