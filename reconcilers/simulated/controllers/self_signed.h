#pragma once

#include <string>
#include <vector>

#include "controller/base/clock.h"

namespace berth::simulated {

struct SelfSigned {
  std::string certificate;  // PEM
  std::string key;          // PEM
  Instant from;
  Instant until;
};

// A certificate for these host names that nobody but a test has reason to trust, valid from now on
// for 90 days as those of a public CA. Throws std::runtime_error where OpenSSL can't make one.
SelfSigned self_signed(const std::vector<std::string>& hosts);

}  // namespace berth::simulated
