#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/api.h"

namespace berth::cli {

// What to do about a reason of GET …/status; empty for one that isn't known here.
std::string advice_for(std::string_view reason);

// Follows the deployment until it is running and tells each step on stderr. Its last status. Throws
// Failure failed, with the reason and what to do about it, where it becomes errored, its rollout
// fails or somebody stops it; Failure timed_out where it takes longer than `time`.
json wait_until_running(Api& api, const std::string& id, std::chrono::seconds time);

}  // namespace berth::cli
