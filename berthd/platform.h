#pragma once

#include "berthd/config.h"

namespace berth {

// Creates all parts of berthd and serves until SIGTERM or SIGINT arrives; the caller has blocked
// both signals in every thread. When it returns, everything that was accepted is on disk. If berthd
// can't start, it throws StartError, DataDirError, SQLite::Exception or std::runtime_error, after
// every part that ran has ended.
void serve(const Config& config);

}  // namespace berth
