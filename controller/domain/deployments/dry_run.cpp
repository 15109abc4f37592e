#include "controller/domain/deployments/dry_run.h"

#include <algorithm>

#include "controller/domain/deployments/app_variable_rows.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::deployments {
namespace {

struct Undo {};  // thrown to roll back a nested transaction

// The names of the variables whose values differ, or which only one of the two has.
std::vector<std::string> changed_variables(const Secrets& from, const Secrets& to) {
  std::vector<std::string> names;
  for (const auto& [name, value] : to.env)
    if (const auto before = from.env.find(name);
        before == from.env.end() || before->second != value)
      names.push_back(name);
  for (const auto& [name, value] : from.env)
    if (!to.env.contains(name)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void note_differences(const Order& from, const Order& to, const Secrets& of_app, Outcome& outcome) {
  const Differences found = differences(from, to);
  for (const auto* fields : {&found.container, &found.other})
    for (const std::string& field : *fields) {
      if (field != "env_vars") {
        outcome.fields.push_back(field);
        continue;
      }
      for (const std::string& name : changed_variables(from.secrets, to.secrets))
        outcome.fields.push_back("env_vars." + name);
    }
  if (from.tier != to.tier) outcome.fields.emplace_back("tier");
  // A variable of its own that is the same as the app's leaves the container running.
  const bool gets_other_env =
      with_inherited(from.secrets, of_app).env != with_inherited(to.secrets, of_app).env;
  outcome.replaces_container =
      from.tier != to.tier || std::ranges::any_of(found.container, [&](const std::string& field) {
        return field != "env_vars" || gets_other_env;
      });
}

Outcome carried_out(db::Tx& tx, const Actor& actor, const Operation& operation, const Rules& rules,
                    const std::string& data_key) {
  Outcome outcome;
  const ledger::Account account = ledger::app_account(actor.app_id);
  const std::int64_t before = ledger::balance(tx, account);
  Order was;
  std::string id = operation.id;
  if (operation.order) {
    was.container.port = 0;  // so that the default port is shown too
    id = create(tx, actor, *operation.order, rules, data_key).id;
  } else {
    const Deployment row = get_owned(tx, actor.app_id, id);
    if (row.status != Status::destroyed) was = order_of(row, own_secrets(tx, id, data_key));
    change(tx, actor, id, operation.change, rules, data_key);
  }
  outcome.deployment = find(tx, id);
  note_differences(was, order_of(*outcome.deployment, own_secrets(tx, id, data_key)),
                   secrets_of_app(tx, actor.app_id, data_key), outcome);
  if (!outcome.fields.empty()) outcome.effect = operation.order ? Effect::create : Effect::change;
  outcome.points = before - ledger::balance(tx, account);
  return outcome;
}

}  // namespace

std::vector<Outcome> dry_run(db::Tx& tx, const Actor& actor,
                             const std::vector<Operation>& operations, const Rules& rules,
                             const std::string& data_key) {
  std::vector<Outcome> outcomes;
  try {
    tx.nested([&] {
      for (const Operation& operation : operations) try {
          outcomes.push_back(
              tx.nested([&] { return carried_out(tx, actor, operation, rules, data_key); }));
        } catch (const billing::TooFewPoints& error) {
          outcomes.emplace_back();
          outcomes.back().points = error.points;
          outcomes.back().refusal = error;
        } catch (const Error& error) {
          outcomes.emplace_back();
          outcomes.back().refusal = error;
        }
      throw Undo();
    });
  } catch (const Undo&) {
  }
  return outcomes;
}

}  // namespace berth::deployments
