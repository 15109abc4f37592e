#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/api.h"

namespace berth::cli {

// What to do about a reason that GET …/status reports of the deployment; empty for an unknown
// reason.
std::string advice_for(std::string_view reason, const std::string& deployment);

// Says on stderr what is wrong with a deployment that runs, with advice; nothing if nothing is.
void say_reason(const json& status);

// Follows the deployment until it is running, and reports each step on stderr. Returns its last
// status. Throws Failure `failed`, with the reason and advice, if the deployment fails, its rollout
// fails or somebody stops it; throws Failure `timed_out` if that takes longer than `time`.
json wait_until_running(Api& api, const std::string& id, std::chrono::seconds time);

}  // namespace berth::cli
