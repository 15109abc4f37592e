#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"

namespace berth::embedded {

// Why no image was made. The texts are those of builds::Reason.
enum class BuildFailure {
  build_failed,
  containerfile_wrong,
  image_pull_failed,
  timed_out,
  out_of_memory,
  out_of_room,
  unavailable,
};
constexpr auto texts_of(BuildFailure) {
  return EnumTexts<BuildFailure::unavailable>{
      "build_failed",  "containerfile_wrong", "image_pull_failed", "timed_out",
      "out_of_memory", "out_of_room",         "unavailable"};
}

struct BuildOrder {
  std::string id;  // of the build; the image gets it as a label, so that no two are one
  std::filesystem::path source;  // a tar archive as source::examine() accepts it
  std::string repository;        // the image's name, without tag and digest
  struct Limits {
    std::chrono::seconds time{0};
    int cpu_millicores = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t image_bytes = 0;  // of the image that is made, with its base
  } limits = {};
  // The prefixes of the names that base images may have, without the slash at their ends.
  std::vector<std::string> registries = {};
};

struct Built {
  enum class Kind { built, failed, stopped } kind = Kind::failed;
  std::string image = {};  // repository@sha256:…
  std::int64_t image_bytes = 0;
  BuildFailure failure = BuildFailure::unavailable;
  std::string message = {};  // a sentence for whoever asked for the build
};

// Receives what a build writes, in pieces of any size.
using BuildLog = std::function<void(std::string_view)>;

// Makes images on this machine. A build has no way to the machine, to its addresses and to other
// tenants, runs as users that the machine doesn't have, and keeps its limits. Several builds may
// run at once, on a thread each; all functions are thread-safe.
class Builder {
 public:
  Builder() = default;
  virtual ~Builder() = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Builds an image, and returns when it is there or isn't going to be; soon after `stop` is
  // requested, with nothing of the build left that runs. Throws std::exception if the builder
  // itself fails.
  virtual Built build(const BuildOrder& order, const BuildLog& log, std::stop_token stop) = 0;
  // Removes an image that build() has made. Does nothing if it isn't there. Throws std::exception.
  virtual void remove(const std::string& image) = 0;
  // Returns the images that build() has made and that are there. Throws std::exception.
  virtual std::vector<std::string> images() = 0;
  // Removes what builds of a process that was killed have left. Called before the first build.
  // Throws std::exception.
  virtual void clean_up() = 0;
};

}  // namespace berth::embedded
