#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// A creation or a change, as create() and change() take them.
struct Operation {
  std::optional<Order> order;  // for a creation
  std::string id;              // the id of the deployment that is to be changed
  Change change = {};
};

// What would be done; `nothing` also if that is refused.
enum class Effect { create, change, nothing };
constexpr auto texts_of(Effect) {
  return EnumTexts<Effect::nothing>{"create", "change", "nothing"};
}

// What an operation would do.
struct Outcome {
  Effect effect = Effect::nothing;
  std::optional<Deployment> deployment;  // as it would be afterwards; empty if it is refused
  // The names of the fields that would change, all that are set for a creation. A variable is
  // "env_vars." and its name.
  std::vector<std::string> fields;
  bool replaces_container = false;
  // What it would cost the app, also if that is refused because it has too few points; negative for
  // a credit.
  std::int64_t points = 0;
  std::optional<Error> refusal;
};

// Carries the operations out, one after the other, and rolls all of them back. Each one sees the
// deployments, limits and points as those before it leave them. One that is refused changes
// nothing, and the next is tried. Nothing is stored, and nobody is notified.
std::vector<Outcome> dry_run(db::Tx& tx, const Actor& actor,
                             const std::vector<Operation>& operations, const Rules& rules,
                             const std::string& data_key);

}  // namespace berth::deployments
