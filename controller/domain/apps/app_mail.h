#pragma once

#include <string>

#include "controller/domain/apps/apps.h"

namespace berth::apps {

// Writes the owner of the request's app what was decided. `request` is approved or rejected.
void tell_decision(db::Tx& tx, const ScopeRequest& request, const std::string& data_key);

}  // namespace berth::apps
