#pragma once

#include <string>

#include "controller/domain/deployments.h"

namespace berth::deployments {

// What can be said of an order without looking at the database. Throws validation_failed with all
// that is wrong, else unsupported_registry.
void check(const Order& order, const Rules& rules);

}  // namespace berth::deployments
