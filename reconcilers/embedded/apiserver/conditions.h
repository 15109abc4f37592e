#pragma once

#include <string>

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

struct Condition {
  std::string type;
  std::string status;  // True, False
  std::string reason;
  std::string message;
};

// Sets a condition in a list of conditions, such as a pod's. Its lastTransitionTime changes only if
// its status does.
void set_condition(Json& conditions, const Condition& condition);
// The condition of this type; null if there is none.
const Json& condition_of(const Json& object, const std::string& type);
// Whether the condition of this type has the status True.
bool is_true(const Json& object, const std::string& type);

}  // namespace berth::embedded
