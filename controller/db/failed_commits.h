#pragma once

#include <cstdint>

namespace berth::db {

// How many transactions could not be committed, or not even begun, since this process started, in
// all of its databases. Thread-safe.
std::uint64_t failed_commits();

}  // namespace berth::db
