#pragma once

#include "controller/berthd/config.h"

namespace berth {

// Makes everything that berthd consists of and serves until SIGTERM or SIGINT, which every thread
// has blocked; what was accepted is on disk then. Throws where it can't start: DataDirError,
// SQLite::Exception, std::runtime_error.
void serve(const Config& config);

}  // namespace berth
