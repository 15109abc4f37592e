#pragma once

#include <cstdint>

namespace berth::simulate {

// From now on OpenSSL's random bytes, of which ids, tokens and codes are made in this process, come
// from this seed, so that a run can be repeated to the byte. Not for threads that draw side by
// side.
void fix_random(std::uint64_t seed);

}  // namespace berth::simulate
