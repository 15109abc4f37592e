#pragma once

#include <string>
#include <vector>

#include "controller/base/clock.h"

namespace berth::embedded {

struct SelfSigned {
  std::string certificate;  // PEM
  std::string key;          // PEM
  Instant from;
  Instant until;
};

// Creates a self-signed certificate for these host names, for tests only, which is valid for 90
// days from now on, as those of a public CA are. Throws std::runtime_error if OpenSSL fails.
SelfSigned self_signed(const std::vector<std::string>& hosts);

}  // namespace berth::embedded
