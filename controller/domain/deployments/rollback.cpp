#include "controller/domain/deployments/rollback.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rules.h"

namespace berth::deployments {
namespace {

// Returns the generation of a log entry; nothing if the entry doesn't belong to a rollout.
std::optional<std::int64_t> generation_of(db::Tx& tx, const std::string& id,
                                          const std::string& log_id) {
  auto rows =
      tx.query("SELECT details FROM deploy_logs WHERE id = $1 AND deployment_id = $2", log_id, id);
  if (!rows.next())
    throw Error(Code::log_entry_not_found, "the deployment's log has no such entry");
  const auto details = rows.text_or_null(0);
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

// The part of a revision that makes its container, with its secrets decrypted.
struct Container {
  std::string image;
  int port = 0;
  std::optional<std::string> health_path;
  nlohmann::json env;
  nlohmann::json credentials;
  bool operator==(const Container&) const = default;
};

Container container_of(const Revision& revision, const std::string& id,
                       const std::string& data_key) {
  const auto& sealed = revision.credentials_sealed;
  return {.image = pinned(revision.image, revision.image_digest),
          .port = revision.port,
          .health_path = revision.health_path,
          .env = open_json(revision.env_sealed, data_key, env_context(id)),
          .credentials =
              sealed ? open_json(*sealed, data_key, credentials_context(id)) : nlohmann::json()};
}

Container container_of(const Wish& wish) {
  const auto& credentials = wish.registry_credentials;
  return {.image = wish.deployment.image,
          .port = wish.deployment.port,
          .health_path = wish.deployment.health_path,
          .env = wish.env,
          .credentials = credentials ? nlohmann::json{{"username", credentials->username},
                                                      {"password", credentials->password}}
                                     : nlohmann::json()};
}

// Returns the last revision that ran and differs; if all are the same, the last one that ran.
Revision last_good(const std::vector<Revision>& all, const std::string& id,
                   const std::string& data_key) {
  if (all.empty())
    throw Error(Code::invalid_state, "no earlier rollout ran, so a rollback isn't possible");
  const Container now = container_of(all.front(), id, data_key);
  const Revision* newest = nullptr;
  for (const Revision& revision : all) {
    if (&revision == &all.front() || !revision.succeeded) continue;
    if (container_of(revision, id, data_key) != now) return revision;
    if (!newest) newest = &revision;
  }
  if (!newest)
    throw Error(Code::invalid_state,
                "no rollout ran before the present one, so a rollback isn't possible");
  return *newest;
}

// With by_order, the container is replaced even if nothing differs.
enum class Replace { by_difference, by_order };

void go_back(db::Tx& tx, const Deployment& row, const Actor& actor, const Revision& to,
             const std::string& image, Replace replace) {
  tx.execute(
      "UPDATE deployments SET image = $2, port = $3, health_path = $4, env_keys = $5, env_sealed "
      "= $6, credentials_sealed = $7, request_id = $8, updated_at = $9, generation = generation + "
      "1, rollout = rollout + $10, status = CASE WHEN status IN ('stopped', 'pending') THEN status "
      "ELSE 'deploying' END, phase = '', reason = NULL, cause = NULL, message = NULL, "
      "health_status = NULL WHERE id = $1",
      row.id, image, to.port, to.health_path, to.env_keys, to.env_sealed, to.credentials_sealed,
      actor.request_id, tx.now(), replace == Replace::by_order);
  begin_revision(tx, row.id, RolloutKind::rollback, actor.user_id);
  tx.notify(db::Topic::deployment, row.id);
}

}  // namespace

Deployment rollback(db::Tx& tx, const Actor& actor, const std::string& id,
                    const std::optional<std::string>& to_log_id, const Rules& rules,
                    const std::string& data_key) {
  check_not_suspended(get_living(tx, actor, id));
  billing::resume(tx, actor, id);
  const Deployment row = *find(tx, id);
  const auto all = revisions(tx, id);
  const Revision to = to_log_id
                          ? of_entry(tx, row, *to_log_id, all.empty() ? 0 : all.front().generation)
                          : last_good(all, id, data_key);
  Change change;
  change.image = pinned(to.image, to.image_digest);
  check(change, {}, rules);  // the registry may no longer be allowed
  const bool same = container_of(to, id, data_key) == container_of(*wish(tx, id, data_key));
  go_back(tx, row, actor, to, *change.image, same ? Replace::by_order : Replace::by_difference);
  nlohmann::json details = {{"kind", to_string(RolloutKind::rollback)},
                            {"generation", row.generation + 1},
                            {"to_generation", to.generation},
                            {"image", *change.image}};
  if (to_log_id) details["to_log_id"] = *to_log_id;
  write_log(tx, id,
            {.action = "deploy",
             .status = row.status == Status::stopped ? "succeeded" : "started",
             .initiated_by = actor.user_id,
             .details = details.dump()});
  return *find(tx, id);
}

}  // namespace berth::deployments
