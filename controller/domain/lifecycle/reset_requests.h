#pragma once

#include <string>

#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/loop.h"

namespace berth::accounts {

// Answers what people requested who forgot their password (request_reset() in passwords.h), twice a
// second: that delays a mail by less than anybody notices. `keys` has to outlive the loop.
Loop reset_loop(const Keys& keys, const std::string& base_url);

}  // namespace berth::accounts
