#pragma once

#include <string>

#include "controller/domain/apps/apps.h"

namespace berth::apps {

// Puts a letter to the app's owner into the outbox that says how their scope request was decided.
// `request` must be approved or rejected.
void tell_decision(db::Tx& tx, const ScopeRequest& request, const std::string& data_key);

}  // namespace berth::apps
