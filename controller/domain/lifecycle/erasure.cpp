#include "controller/domain/lifecycle/erasure.h"

#include <array>

#include "controller/domain/ads/campaign_erasure.h"
#include "controller/domain/apps/app_changes.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/erasure.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/eraser.h"
#include "controller/domain/kernel/idempotency_keys.h"
#include "controller/domain/ledger/memo_erasure.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/social/chat.h"

namespace berth::erasure {
namespace {

// Removes the stored answers to requests of the user's apps, and to requests of admins about the
// user. Answers to others are kept no longer than idempotency_keys::kept_for anyway.
int erase_answers(db::Tx& tx, const std::string& user_id, int limit) {
  int erased = idempotency_keys::forget_internal(tx, user_id, limit);
  for (const std::string& app_id : connections::app_ids(tx, user_id))
    if (erased < limit)
      erased += idempotency_keys::forget(tx, idempotency_keys::app_principal(app_id, user_id),
                                         limit - erased);
  return erased;
}

// What the user did goes first: erase_details() reads all entries about them each time, which are
// mostly their own logins.
int erase_audit_entries(db::Tx& tx, const std::string& user_id, int limit) {
  const int erased = audit::erase_of_user(tx, user_id, limit);
  if (erased >= limit) return erased;
  return erased + audit::erase_details(tx, {user_id, "user:" + user_id}, limit - erased);
}

// The functions that erase the texts of a deleted user. A module whose rows may have such texts
// adds its own here.
constexpr std::array<eraser::Erase, 7> erasers = {erase_answers,
                                                  chat::erase,
                                                  refund_requests::erase_of_user,
                                                  proposals::erase_of_user,
                                                  erase_audit_entries,
                                                  deployments::erase_words,
                                                  ledger::erase_memos};
// The functions that erase the texts of a deleted app.
constexpr std::array<eraser::Erase, 4> erasers_of_app = {
    apps::erase_words, campaigns::erase_words, builds::erase, refund_requests::erase_of_app};

int erase_app(db::Tx& tx, const std::string& app_id, int limit) {
  const int erased = eraser::run(tx, erasers_of_app, app_id, limit);
  if (erased >= limit) return erased;
  return erased + tx.execute(R"(DELETE FROM app_erasures WHERE app_id = $1)", app_id);
}

std::optional<std::string> next_app(db::Tx& tx) {
  auto rows = tx.query(R"(SELECT app_id FROM app_erasures ORDER BY app_id LIMIT 1)");
  return rows.next() ? std::optional(rows.text("app_id")) : std::nullopt;
}

// Returns fewer than `limit` if all that can be erased now is.
int erase(db::Tx& tx, const std::string& user_id, int limit) {
  const int erased = eraser::run(tx, erasers, user_id, limit);
  if (erased >= limit) return erased;
  if (deployments::has_words(tx, user_id) || ledger::has_memos(tx, user_id))
    return erased + tx.execute(R"(UPDATE erasures SET due_at = $2 WHERE user_id = $1)", user_id,
                               tx.now() + look_again_after);
  return erased + tx.execute(R"(DELETE FROM erasures WHERE user_id = $1)", user_id);
}

}  // namespace

void begin_app(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(INSERT INTO app_erasures (app_id) VALUES ($1))", app_id);
  erase_app(tx, app_id, first_batch);
}

void begin_later(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(INSERT INTO erasures (user_id, due_at) VALUES ($1, $2))", user_id, tx.now());
  ledger::erase_memos_later(tx, ledger::user_account(user_id), user_id);
  for (const std::string& app_id : apps::ids_ever_owned(tx, user_id))
    ledger::erase_memos_later(tx, ledger::app_account(app_id), user_id);
}

void begin(db::Tx& tx, const std::string& user_id) {
  begin_later(tx, user_id);
  erase(tx, user_id, first_batch);
}

bool is_due(db::Tx& tx) {
  return next_app(tx) ||
         tx.number(R"(SELECT 1 FROM erasures WHERE due_at <= $1 LIMIT 1)", tx.now()) > 0;
}

int erase_some(db::Tx& tx, int limit) {
  if (const auto app_id = next_app(tx)) return erase_app(tx, *app_id, limit);
  std::string user_id;
  {
    auto rows = tx.query(
        R"(
        SELECT user_id
        FROM erasures
        WHERE due_at <= $1
        ORDER BY due_at
        LIMIT 1)",
        tx.now());
    if (!rows.next()) return 0;
    user_id = rows.text("user_id");
  }
  return erase(tx, user_id, limit);
}

}  // namespace berth::erasure
