#pragma once

#include "api/gate/call.h"

// The output of a deployment's containers, also as a stream.
namespace berth::api {

Reply container_log(const Call& call, const Services& services);

}  // namespace berth::api
