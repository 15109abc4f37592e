#pragma once

#include <stop_token>

#include "controller/domain/deployments/pushes.h"

namespace berth {

// Asks the image's registry for the digest of its tag. Says why there is none instead of throwing.
// Thread-safe.
pushes::Answer pushed_image(const pushes::Question& question, const std::stop_token& stop);

}  // namespace berth
