#include "controller/domain/deployments/erasure.h"

#include <array>

#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/eraser.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::deployments {
namespace {

// Returns a destroyed deployment that isn't erased yet and of which nothing is left on the cluster,
// custom domains included. Erased deployments have an empty image.
std::optional<std::string> next(db::Tx& tx, const std::string& owner_id) {
  auto rows = tx.query(
      R"(
      SELECT d.id
      FROM deployments d
      WHERE d.owner_id = $1
        AND d.status = 'destroyed'
        AND d.removed_at IS NOT NULL
        AND d.image <> ''
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

int erase_claims(db::Tx& tx, const std::string& id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM custom_domains
      WHERE id IN (SELECT id FROM custom_domains WHERE deployment_id = $1 LIMIT $2))",
      id, limit);
}

// Empties the row before the events are removed, because emptying it may write another event.
int empty(db::Tx& tx, const std::string& id) {
  const int emptied = tx.execute(
      R"(
      UPDATE deployments
      SET name = '', image = '', custom_domain = NULL, health_path = NULL, env_keys = '[]',
          env_sealed = '', credentials_sealed = NULL, phase = '', message = NULL,
          container_id = NULL, image_digest = NULL, request_id = ''
      WHERE id = $1)",
      id);
  return emptied + app_events::forget(tx, id);
}

constexpr std::array<eraser::Erase, 3> parts = {erase_logs, erase_audit_details, erase_claims};

}  // namespace

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
      WHERE owner_id = $1 AND status = 'destroyed' AND removed_at IS NOT NULL AND image <> ''
      LIMIT 1)",
             owner_id) > 0;
}

}  // namespace berth::deployments
