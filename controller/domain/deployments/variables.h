#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Whose variable it is that a container gets.
enum class VariableOrigin { deployment, app };
constexpr auto texts_of(VariableOrigin) {
  return EnumTexts<VariableOrigin::app>{"deployment", "app"};
}

// What the API says about a variable; its value is never returned.
struct Variable {
  std::string name;
  // 16 hexadecimal digits that change when the value does. Without the data key nobody can guess a
  // value by it, and the same value has other digits in another variable, deployment or app.
  std::string digest;
  Instant set_at;  // when it got its value
  VariableOrigin from = VariableOrigin::deployment;
  bool overrides = false;  // whether it takes the place of one of the app's
};

// Returns by name what the container of the app's deployment gets: its own variables, and those of
// the app (app_variables.h) that it doesn't override. None if the deployment is destroyed. Throws
// deployment_not_found, or forbidden if another app owns it.
std::vector<Variable> variables(db::Tx& tx, const std::string& app_id, const std::string& id,
                                const std::string& data_key);

// Returns what may be shown of the secrets' variables. `owner_id` is that of their deployment or
// app.
std::vector<Variable> shown_variables(const Secrets& secrets, VariableOrigin from,
                                      const std::string& owner_id, const std::string& data_key);

}  // namespace berth::deployments
