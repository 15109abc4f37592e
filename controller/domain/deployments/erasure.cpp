#include "controller/domain/deployments/erasure.h"

#include <array>

#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/runs/crons.h"
#include "controller/domain/deployments/runs/runs.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/eraser.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::deployments {
namespace {

// Returns a destroyed deployment that isn't erased yet and of which nothing is left on the cluster,
// custom domains included. Erased deployments have an empty name.
std::optional<std::string> next(db::Tx& tx, const std::string& owner_id) {
  auto rows = tx.query(
      R"(
      SELECT d.id
      FROM deployments d
      WHERE d.owner_id = $1
        AND d.status = 'destroyed'
        AND d.removed_at IS NOT NULL
        AND d.name <> ''
        AND NOT EXISTS (SELECT 1
                        FROM custom_domains c
                        WHERE c.deployment_id = d.id AND c.removed_at IS NULL)
      LIMIT 1)",
      owner_id);
  return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
}

int erase_audit_details(db::Tx& tx, const std::string& id, int limit) {
  return audit::erase_details(tx, {id}, limit);
}

int erase_logs(db::Tx& tx, const std::string& id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM deploy_logs
      WHERE id IN (SELECT id FROM deploy_logs WHERE deployment_id = $1 LIMIT $2))",
      id, limit);
}

int erase_runs(db::Tx& tx, const std::string& id, int limit) { return runs::erase(tx, id, limit); }

int erase_claims(db::Tx& tx, const std::string& id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM custom_domains
      WHERE id IN (SELECT id FROM custom_domains WHERE deployment_id = $1 LIMIT $2))",
      id, limit);
}

// Empties the row before the events are removed, because emptying it may write another event.
int empty_but_name(db::Tx& tx, const std::string& id) {
  const int emptied = tx.execute(
      R"(
      UPDATE deployments
      SET image = '', custom_domain = NULL, phase = '', message = NULL, container_id = NULL,
          image_digest = NULL, host_server = NULL, request_id = ''
      WHERE id = $1)",
      id);
  return emptied + app_events::forget(tx, id);
}

int empty(db::Tx& tx, const std::string& id) {
  tx.execute(R"(UPDATE deployments SET name = '' WHERE id = $1)", id);
  return empty_but_name(tx, id);
}

// Returns a destroyed deployment that still has its texts although its objects were removed from
// the cluster before `removed_until`. By then nobody needs the texts any more.
std::optional<std::string> next_old(db::Tx& tx, Instant removed_until) {
  auto rows = tx.query(
      R"(
      SELECT d.id
      FROM deployments d
      WHERE d.status = 'destroyed'
        AND d.image <> ''
        AND d.removed_at <= $1
        AND NOT EXISTS (SELECT 1
                        FROM custom_domains c
                        WHERE c.deployment_id = d.id AND c.removed_at IS NULL)
      ORDER BY d.removed_at
      LIMIT 1)",
      removed_until);
  return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
}

int remove_old_claims(db::Tx& tx, Instant removed_until, int limit) {
  return tx.execute(
      R"(
      DELETE FROM custom_domains
      WHERE id IN (SELECT id FROM custom_domains WHERE removed_at <= $1 LIMIT $2))",
      removed_until, limit);
}

constexpr std::array<eraser::Erase, 4> parts = {erase_logs, erase_runs, erase_audit_details,
                                                erase_claims};

}  // namespace

void erase_secrets(db::Tx& tx, const Deployment& deployment) {
  const ContainerSpec& container = deployment.container;
  store_container(tx, deployment.id, {.image = container.image, .port = container.port});
  crons::follow(tx, deployment.id, {});
  tx.execute(R"(
      UPDATE deployments
      SET env_keys = '[]', env_sealed = '', credentials_sealed = NULL
      WHERE id = $1)",
             deployment.id);
}

bool are_old_words_left(db::Tx& tx) {
  const Instant end = tx.now() - words_kept_for;
  return next_old(tx, end) ||
         tx.number(R"(SELECT 1 FROM custom_domains WHERE removed_at <= $1 LIMIT 1)", end) > 0;
}

int erase_old_words(db::Tx& tx, int limit) {
  const Instant end = tx.now() - words_kept_for;
  int erased = 0;
  while (erased < limit) {
    const auto id = next_old(tx, end);
    if (!id) break;
    erased += eraser::run(tx, parts, *id, limit - erased);
    if (erased < limit) erased += empty_but_name(tx, *id);
  }
  return erased < limit ? erased + remove_old_claims(tx, end, limit - erased) : erased;
}

int erase_words(db::Tx& tx, const std::string& owner_id, int limit) {
  return eraser::run(tx, {.next = next, .parts = parts, .empty = empty}, owner_id, limit);
}

bool has_words(db::Tx& tx, const std::string& owner_id) {
  // Two statements, each with an index of its own.
  return tx.number(
             R"(
      SELECT 1
      FROM deployments
      WHERE owner_id = $1 AND status = 'destroyed' AND removed_at IS NULL
      LIMIT 1)",
             owner_id) > 0 ||
         tx.number(
             R"(
      SELECT 1
      FROM deployments
      WHERE owner_id = $1 AND status = 'destroyed' AND removed_at IS NOT NULL AND name <> ''
      LIMIT 1)",
             owner_id) > 0;
}

}  // namespace berth::deployments
