#pragma once

#include <string>

#include "reconcilers/simulated/apiserver/types.h"

namespace berth::simulated {

struct Condition {
  std::string type;
  std::string status;  // True, False
  std::string reason;
  std::string message;
};

// Sets the condition in the list (of a pod's status); its time changes with its status only.
void set_condition(Json& conditions, const Condition& condition);
// The condition of that type, or null.
const Json& condition_of(const Json& object, const std::string& type);
bool is_true(const Json& object, const std::string& type);

}  // namespace berth::simulated
