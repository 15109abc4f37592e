#include "reconcilers/embedded/node/simulated/builder.h"

#include <algorithm>
#include <condition_variable>

#include "controller/base/crypto.h"
#include "controller/base/source_archive.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/node/containerfile.h"

namespace berth::embedded {
namespace {

constexpr std::int64_t image_bytes = 1'000'000;

// Waits for `time`, unless it is asked to stop. Returns whether the time has passed.
bool sleep_for(std::chrono::seconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Built failed(BuildFailure failure, std::string message) {
  return {.kind = Built::Kind::failed, .failure = failure, .message = std::move(message)};
}

}  // namespace

Built SimulatedBuilder::build(const BuildOrder& order, const BuildLog& log, std::stop_token stop) {
  const source::Contents source = source::examine(order.source);
  const Containerfile file = Containerfile::parse(source.containerfile_text);
  if (const std::string wrong = file.refusal(order.registries); !wrong.empty())
    return failed(BuildFailure::containerfile_wrong, wrong);
  const auto ends = std::chrono::steady_clock::now() + order.limits.time;
  std::size_t number = 0;
  for (const Instruction& step : file.instructions) {
    log("STEP " + std::to_string(++number) + "/" + std::to_string(file.instructions.size()) + ": " +
        step.name + " " + step.text + "\n");
    if (step.name != "RUN") continue;
    constexpr std::string_view sleep = "sleep ", exit = "exit ";
    if (step.text.starts_with(sleep)) {
      const auto seconds = parse_number<int>(std::string_view(step.text).substr(sleep.size()));
      const auto left =
          std::chrono::duration_cast<std::chrono::seconds>(ends - std::chrono::steady_clock::now());
      const std::chrono::seconds wanted(seconds.value_or(0));
      if (!sleep_for(std::min(wanted, left), stop)) return {.kind = Built::Kind::stopped};
      if (wanted > left)
        return failed(
            BuildFailure::timed_out,
            "the build took longer than " + std::to_string(order.limits.time.count()) + " seconds");
    } else if (step.text.starts_with(exit)) {
      return failed(
          BuildFailure::build_failed,
          "the step RUN " + step.text + " failed with exit code " + step.text.substr(exit.size()));
    }
  }
  const std::string image =
      order.repository + "@sha256:" + hex(sha256(order.id + source.containerfile_text));
  log("COMMIT " + image + "\n");
  const std::scoped_lock lock(mutex_);
  images_[image] = image_bytes;
  return {.kind = Built::Kind::built, .image = image, .image_bytes = image_bytes};
}

void SimulatedBuilder::remove(const std::string& image) {
  const std::scoped_lock lock(mutex_);
  images_.erase(image);
}

std::vector<std::string> SimulatedBuilder::images() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : images_) names.push_back(name);
  return names;
}

}  // namespace berth::embedded
