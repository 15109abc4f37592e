#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace berth::embedded {

// Something about the machine that berth can't do without, or that makes it do less. It is logged
// at the start, and appears in /health and in what `berthd doctor` prints.
struct Finding {
  std::string what;  // one sentence, such as `podman isn't installed.`
  std::string help;  // the command or the setting that helps; empty: nothing does
};

// Thrown by what can't work on this machine at all.
class Unusable : public std::runtime_error {
 public:
  explicit Unusable(Finding finding)
      : std::runtime_error(finding.what), finding_(std::move(finding)) {}
  const Finding& finding() const { return finding_; }

 private:
  Finding finding_;
};

}  // namespace berth::embedded
