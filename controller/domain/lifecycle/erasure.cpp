#include "controller/domain/lifecycle/erasure.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::erasure {
namespace {

// Each statement takes an id as $1 and the number of rows that it may change as $2. It doesn't find
// the rows again that it has changed.

// Statements whose $1 is the user's id.
constexpr std::array of_user = {
    // Stored answers to what apps did for the user. Answers to other users may contain the user's
    // name, but only for a day (expiry.h).
    "DELETE FROM idempotency_keys WHERE (principal, method, path, key) IN "
    "(SELECT k.principal, k.method, k.path, k.key FROM grants g JOIN idempotency_keys k "
    "ON k.principal = 'app:' || g.app_id || ':user:' || g.user_id WHERE g.user_id = $1 LIMIT $2)",
    // Stored answers to admins' calls. They are few, and may show the account as it was.
    "DELETE FROM idempotency_keys WHERE (principal, method, path, key) IN "
    "(SELECT principal, method, path, key FROM idempotency_keys WHERE principal = 'internal' "
    "AND instr(path || body, $1) > 0 LIMIT $2)",
    "DELETE FROM chat_entries WHERE seq IN "
    "(SELECT seq FROM chat_entries WHERE sender_id = $1 LIMIT $2)",
    "UPDATE audit_log SET details = '{}' WHERE id IN (SELECT id FROM audit_log "
    "WHERE target IN ($1, 'user:' || $1) AND details <> '{}' LIMIT $2)",
    "UPDATE audit_log SET details = '{}' WHERE id IN (SELECT l.id FROM apps a JOIN audit_log l "
    "ON l.target IN (a.id, 'app:' || a.id) WHERE a.owner_id = $1 AND l.details <> '{}' LIMIT $2)",
    "UPDATE audit_log SET details = '{}' WHERE id IN (SELECT l.id FROM apps a "
    "JOIN scope_requests r ON r.app_id = a.id JOIN audit_log l ON l.target = r.id "
    "WHERE a.owner_id = $1 AND l.details <> '{}' LIMIT $2)",
    "DELETE FROM app_events WHERE id IN (SELECT e.id FROM apps a "
    "JOIN scope_requests r ON r.app_id = a.id JOIN app_events e ON e.subject = r.id "
    "WHERE a.owner_id = $1 LIMIT $2)",
    "UPDATE scope_requests SET reason = NULL WHERE id IN (SELECT r.id FROM apps a "
    "JOIN scope_requests r ON r.app_id = a.id WHERE a.owner_id = $1 AND r.reason IS NOT NULL "
    "LIMIT $2)",
    "DELETE FROM audience_segments WHERE id IN (SELECT s.id FROM apps a "
    "JOIN audience_segments s ON s.app_id = a.id WHERE a.owner_id = $1 LIMIT $2)",
    // Apps that aren't deleted never have an empty name.
    "UPDATE apps SET app_name = '', app_description = '', logo_url = NULL, website_url = NULL, "
    "redirect_uris = '[]' WHERE id IN "
    "(SELECT id FROM apps WHERE owner_id = $1 AND app_name <> '' LIMIT $2)",
};

// A kind of rows of which a user may have any number, with other rows that belong to each.
struct Kind {
  std::string_view next;  // finds, for the user $1, the id of a row that hasn't been emptied
  std::array<std::string_view, 3> of;  // delete the rows that belong to the row with the id $1
  std::string_view empty;  // empties the row with the id $1 after nothing belongs to it any more
};

constexpr std::array kinds = {
    // The claims can be deleted, because the history of names (name_history.h) doesn't need them.
    Kind{
        .next = "SELECT id FROM deployments WHERE owner_id = $1 AND status = 'destroyed' AND "
                "removed_at IS NOT NULL AND image <> '' AND NOT EXISTS (SELECT 1 FROM "
                "custom_domains c WHERE c.deployment_id = deployments.id AND c.removed_at IS NULL) "
                "LIMIT 1",
        .of = {"DELETE FROM deploy_logs WHERE id IN "
               "(SELECT id FROM deploy_logs WHERE deployment_id = $1 LIMIT $2)",
               "UPDATE audit_log SET details = '{}' WHERE id IN (SELECT id FROM audit_log "
               "WHERE target = $1 AND details <> '{}' LIMIT $2)",
               "DELETE FROM custom_domains WHERE id IN "
               "(SELECT id FROM custom_domains WHERE deployment_id = $1 LIMIT $2)"},
        .empty = "UPDATE deployments SET name = '', image = '', custom_domain = NULL, "
                 "health_path = NULL, env_keys = '[]', env_sealed = '', credentials_sealed = NULL, "
                 "phase = '', message = NULL, container_id = NULL, image_digest = NULL, "
                 "request_id = '' WHERE id = $1"},
    Kind{.next = "SELECT id FROM campaigns WHERE owner_id = $1 AND "
                 "status IN ('exhausted', 'cancelled') AND name <> '' LIMIT 1",
         .of = {"DELETE FROM placement_segments WHERE id IN (SELECT s.id "
                "FROM campaign_placements p JOIN placement_segments s "
                "ON s.campaign_placement_id = p.id WHERE p.campaign_id = $1 LIMIT $2)",
                "", ""},
         .empty = "UPDATE campaigns SET name = '', targeting_metadata = NULL WHERE id = $1"},
};

std::optional<std::string> text(db::Tx& tx, std::string_view sql, const std::string& id) {
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(rows.text(0)) : std::nullopt;
}

template <typename Statements>
int run(db::Tx& tx, const Statements& statements, const std::string& id, int limit) {
  int changed = 0;
  for (const std::string_view sql : statements)
    if (!sql.empty() && changed < limit) changed += tx.execute(sql, id, limit - changed);
  return changed;
}

int erase_kind(db::Tx& tx, const Kind& kind, const std::string& user_id, int limit) {
  int changed = 0;
  while (changed < limit) {
    const auto id = text(tx, kind.next, user_id);
    if (!id) break;
    changed += run(tx, kind.of, *id, limit - changed);
    if (changed >= limit) break;
    changed += tx.execute(kind.empty, *id);
    // Comes after the row, since emptying that may have created an event. There are about 200
    // events at most.
    changed += tx.execute("DELETE FROM app_events WHERE subject = $1", *id);
  }
  return changed;
}

// Returns the number of postings that it examined.
int erase_memos(db::Tx& tx, const std::string& user_id, int limit) {
  int seen = 0;
  while (seen < limit) {
    std::string account_id;
    std::int64_t up_to = 0;
    {
      auto rows = tx.query("SELECT account_id, up_to FROM memo_erasures WHERE user_id = $1 LIMIT 1",
                           user_id);
      if (!rows.next()) break;
      account_id = rows.text(0);
      up_to = rows.integer(1);
    }
    std::vector<std::string> transactions;
    const int most = limit - seen;
    {
      auto rows = tx.query(
          "SELECT id, transaction_id FROM ledger_postings WHERE account_id = $1 AND id > $2 "
          "ORDER BY id LIMIT $3",
          account_id, up_to, most);
      while (rows.next()) {
        up_to = rows.integer(0);
        transactions.push_back(rows.text(1));
      }
    }
    for (const std::string& id : transactions)
      tx.execute("UPDATE ledger_transactions SET memo = '' WHERE id = $1 AND memo <> ''", id);
    if (int(transactions.size()) < most)
      tx.execute("DELETE FROM memo_erasures WHERE account_id = $1", account_id);
    else
      tx.execute("UPDATE memo_erasures SET up_to = $2 WHERE account_id = $1", account_id, up_to);
    seen += int(transactions.size()) + 1;
  }
  return seen;
}

bool is_on_cluster(db::Tx& tx, const std::string& user_id) {
  return tx.number(
             "SELECT EXISTS (SELECT 1 FROM deployments WHERE owner_id = $1 AND "
             "status = 'destroyed' AND removed_at IS NULL) OR EXISTS (SELECT 1 FROM deployments "
             "WHERE owner_id = $1 AND status = 'destroyed' AND removed_at IS NOT NULL AND "
             "image <> '')",
             user_id) != 0;
}

// Returns fewer than `limit` if nothing is left that can be erased now.
int erase(db::Tx& tx, const std::string& user_id, int limit) {
  int changed = run(tx, of_user, user_id, limit);
  for (const Kind& kind : kinds)
    if (changed < limit) changed += erase_kind(tx, kind, user_id, limit - changed);
  if (changed < limit) changed += erase_memos(tx, user_id, limit - changed);
  if (changed >= limit) return changed;
  if (is_on_cluster(tx, user_id))
    return changed + tx.execute("UPDATE erasures SET due_at = $2 WHERE user_id = $1", user_id,
                                tx.now() + look_again_after);
  return changed + tx.execute("DELETE FROM erasures WHERE user_id = $1", user_id);
}

}  // namespace

void begin(db::Tx& tx, const std::string& user_id) {
  tx.execute("INSERT INTO erasures (user_id, due_at) VALUES ($1, $2)", user_id, tx.now());
  tx.execute(
      "INSERT INTO memo_erasures (account_id, user_id) SELECT id, $1 FROM ledger_accounts "
      "WHERE kind = 'user' AND owner = $1",
      user_id);
  tx.execute(
      "INSERT INTO memo_erasures (account_id, user_id) SELECT l.id, $1 FROM apps a "
      "JOIN ledger_accounts l ON l.kind = 'app' AND l.owner = a.id WHERE a.owner_id = $1",
      user_id);
  erase(tx, user_id, first_batch);
}

bool is_due(db::Tx& tx) {
  return tx.number("SELECT EXISTS (SELECT 1 FROM erasures WHERE due_at <= $1)", tx.now()) != 0;
}

int erase_some(db::Tx& tx, int limit) {
  std::string user_id;
  {
    auto rows = tx.query("SELECT user_id FROM erasures WHERE due_at <= $1 ORDER BY due_at LIMIT 1",
                         tx.now());
    if (!rows.next()) return 0;
    user_id = rows.text(0);
  }
  return erase(tx, user_id, limit);
}

}  // namespace berth::erasure
