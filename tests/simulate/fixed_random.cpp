// RAND_METHOD lets a process replace the random generator; OpenSSL 3 prefers a provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "tests/simulate/fixed_random.h"

#include <openssl/rand.h>

#include <random>
#include <stdexcept>

namespace berth::simulate {
namespace {

std::mt19937_64& generator() {
  static std::mt19937_64 only;
  return only;
}

int bytes(unsigned char* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(generator()());
  return 1;
}

int ready() { return 1; }

}  // namespace

void fix_random(std::uint64_t seed) {
  static const RAND_METHOD method = {.seed = nullptr,
                                     .bytes = bytes,
                                     .cleanup = nullptr,
                                     .add = nullptr,
                                     .pseudorand = bytes,
                                     .status = ready};
  generator().seed(seed);
  if (RAND_set_rand_method(&method) != 1) throw std::runtime_error("OpenSSL keeps its own bytes");
}

}  // namespace berth::simulate
