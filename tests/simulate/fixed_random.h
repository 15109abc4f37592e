#pragma once

#include <cstdint>

namespace berth::simulate {

// Makes OpenSSL's random bytes come from this seed from now on, so that ids, tokens and codes of
// this process are the same in each run. Must not be used while several threads draw random bytes.
void fix_random(std::uint64_t seed);

}  // namespace berth::simulate
