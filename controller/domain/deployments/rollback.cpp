#include "controller/domain/deployments/rollback.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/image_reference.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/process_rules.h"
#include "controller/domain/deployments/pushes.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rules.h"

namespace berth::deployments {
namespace {

// Returns the generation of a log entry; nothing if the entry doesn't belong to a rollout.
std::optional<std::int64_t> generation_of(db::Tx& tx, const std::string& id,
                                          const std::string& log_id) {
  auto rows = tx.query(R"(SELECT details FROM deploy_logs WHERE id = $1 AND deployment_id = $2)",
                       log_id, id);
  if (!rows.next())
    throw Error(Code::log_entry_not_found, "the deployment's log has no such entry");
  const auto details = rows.text_or_null("details");
  if (!details) return std::nullopt;
  const auto parsed = nlohmann::json::parse(*details);
  const auto found = parsed.find("generation");
  return found == parsed.end() ? std::nullopt : std::optional(found->get<std::int64_t>());
}

Revision of_entry(db::Tx& tx, const Deployment& row, const std::string& log_id,
                  std::int64_t newest) {
  const auto generation = generation_of(tx, row.id, log_id);
  const auto revision = generation ? revision_of(tx, row.id, *generation) : std::nullopt;
  if (!revision || !revision->succeeded)
    throw Error(Code::invalid_state,
                "a rollback to this entry isn't possible: it doesn't belong to a rollout that ran, "
                "or is older than the last " +
                    std::to_string(max_revisions));
  if (revision->generation == newest)
    throw Error(Code::invalid_state, "this log entry describes what is deployed now");
  return *revision;
}

// What a rollout runs, with its secrets decrypted.
struct Rollout {
  ContainerSpec container;
  Secrets secrets;
};

bool is_same(const Rollout& from, const Rollout& to) {
  return brought_back(to.container, from.container) == to.container && from.secrets == to.secrets;
}

// Returns what the revision ran. Its image is pinned to the digest that was pulled at that time,
// with its tag, which deploys on push go on to follow.
Rollout rollout_of(const Revision& revision, const std::string& id, const std::string& data_key) {
  Rollout rollout = {.container = revision.container,
                     .secrets = open(revision.secrets, id, data_key)};
  const std::string image = pinned(with_tag(rollout.container.image), revision.image_digest);
  if (image.find('@') != std::string::npos) rollout.container.image = image;
  return rollout;
}

// Returns the last revision that ran and differs; if all are the same, the last one that ran.
Revision last_good(const std::vector<Revision>& all, const std::string& id,
                   const std::string& data_key) {
  if (all.empty())
    throw Error(Code::invalid_state, "no earlier rollout ran, so a rollback isn't possible");
  const Rollout now = rollout_of(all.front(), id, data_key);
  const Revision* newest = nullptr;
  for (const Revision& revision : all) {
    if (&revision == &all.front() || !revision.succeeded) continue;
    if (!is_same(rollout_of(revision, id, data_key), now)) return revision;
    if (!newest) newest = &revision;
  }
  if (!newest)
    throw Error(Code::invalid_state,
                "no rollout ran before the current one, so a rollback isn't possible");
  return *newest;
}

}  // namespace

Deployment rollback(db::Tx& tx, const Actor& actor, const std::string& id,
                    const std::optional<std::string>& to_log_id, const Rules& rules,
                    const std::string& data_key, RollbackBy by) {
  const Deployment present = get_living(tx, actor, id);
  check_not_suspended(present);
  const auto all = revisions(tx, id);
  const Revision to =
      to_log_id ? of_entry(tx, present, *to_log_id, all.empty() ? 0 : all.front().generation)
                : last_good(all, id, data_key);
  const Rollout rollout = rollout_of(to, id, data_key);
  Change change;
  change.set(&ContainerSpec::image, rollout.container.image);
  check_own_image(tx, actor.app_id, rollout.container.image, rules);
  const Order before = order_of(present, own_secrets(tx, id, data_key));
  Order order = before;
  order.container = brought_back(before.container, rollout.container);
  order.secrets = rollout.secrets;
  check(change, order, rules);  // the registry may not be allowed any more
  check_size(order.container, tier_as_agreed(tx, present));
  const bool is_free = by == RollbackBy::berth && present.status != Status::stopped &&
                       most_replicas(order.container) == most_replicas(before.container);
  if (!is_free) billing::change_size(tx, actor, id, {}, order.container);
  const Deployment row = *find(tx, id);
  const bool same = order.container == before.container && order.secrets == before.secrets;
  store(tx, id, before, order, data_key);
  begin_generation(tx, id,
                   {.status = status_with_new_container(row.status),
                    .request_id = actor.request_id,
                    .replace = same ? Replace::always : Replace::if_it_differs});
  const auto initiator =
      by == RollbackBy::owner ? std::optional(actor.user_id) : std::optional<std::string>();
  begin_revision(tx, id, RolloutKind::rollback, initiator);
  nlohmann::json details = {{"kind", to_string(RolloutKind::rollback)},
                            {"generation", row.generation + 1},
                            {"to_generation", to.generation},
                            {"image", rollout.container.image},
                            {"changes", described_differences(before, order)}};
  if (to_log_id) details["to_log_id"] = *to_log_id;
  write_log(tx, id,
            {.action = LogAction::deploy,
             .status = row.status == Status::stopped ? LogStatus::succeeded : LogStatus::started,
             .initiated_by = initiator,
             .details = details.dump()});
  const Deployment rolled_back = *find(tx, id);
  pushes::follow(tx, rolled_back);
  return rolled_back;
}

}  // namespace berth::deployments
