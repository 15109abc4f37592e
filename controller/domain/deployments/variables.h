#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// What the API says about a variable; its value is never returned.
struct Variable {
  std::string name;
  // 16 hexadecimal digits that change when the value does. Without the data key nobody can guess a
  // value by it, and the same value has other digits in another variable or deployment.
  std::string digest;
  Instant set_at;  // when it got its value
};

// Returns the variables of the app's deployment by name; none if it is destroyed. Throws
// deployment_not_found, or forbidden if another app owns it.
std::vector<Variable> variables(db::Tx& tx, const std::string& app_id, const std::string& id,
                                const std::string& data_key);

}  // namespace berth::deployments
