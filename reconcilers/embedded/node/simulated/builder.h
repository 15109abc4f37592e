#pragma once

#include <map>
#include <mutex>

#include "reconcilers/embedded/node/builder.h"

namespace berth::embedded {

// Pretends to build images, for tests: writes each instruction of the Containerfile into the log.
// `RUN sleep N` takes N seconds, `RUN exit N` fails, and FROM needs an allowed registry or scratch.
// Nothing runs, and the image is only a name, which the simulated node runs like any other.
class SimulatedBuilder final : public Builder {
 public:
  Built build(const BuildOrder& order, const BuildLog& log, std::stop_token stop) override;
  void remove(const std::string& image) override;
  std::vector<std::string> images() override;
  void clean_up() override {}

 private:
  std::mutex mutex_;
  std::map<std::string, std::int64_t> images_;  // with their sizes
};

}  // namespace berth::embedded
