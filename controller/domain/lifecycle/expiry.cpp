#include "controller/domain/lifecycle/expiry.h"

#include <array>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/social/chat.h"

namespace berth::expiry {
namespace {

// Rows that no other rows belong to. Each statement takes the time before which a row is due as $1
// and the number of rows that it may delete as $2; there is an index for each condition.
struct Plain {
  Duration kept;  // how long a row is kept after its own time
  std::string_view due;
  std::string_view remove;
};
constexpr std::array plain_rows = {
    Plain{Duration(0),
          "SELECT 1 FROM authorization_codes WHERE family_id IS NULL AND expires_at <= $1 LIMIT 1",
          "DELETE FROM authorization_codes WHERE rowid IN (SELECT rowid FROM authorization_codes "
          "WHERE family_id IS NULL AND expires_at <= $1 LIMIT $2)"},
    Plain{Duration(0), "SELECT 1 FROM sessions WHERE expires_at <= $1 LIMIT 1",
          "DELETE FROM sessions WHERE rowid IN "
          "(SELECT rowid FROM sessions WHERE expires_at <= $1 LIMIT $2)"},
    Plain{Duration(0), "SELECT 1 FROM email_tokens WHERE expires_at <= $1 LIMIT 1",
          "DELETE FROM email_tokens WHERE rowid IN "
          "(SELECT rowid FROM email_tokens WHERE expires_at <= $1 LIMIT $2)"},
    Plain{accounts::networks_known_for, "SELECT 1 FROM login_networks WHERE last_at <= $1 LIMIT 1",
          "DELETE FROM login_networks WHERE (user_id, network) IN "
          "(SELECT user_id, network FROM login_networks WHERE last_at <= $1 LIMIT $2)"},
    // Without a mail server nobody else removes these. With one, the mail loop has tried to send
    // them.
    Plain{unsent_mail_kept_for,
          "SELECT 1 FROM outbox WHERE sent_at IS NULL AND failed_at IS NULL AND "
          "next_attempt_at = 0 AND created_at <= $1 LIMIT 1",
          "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE sent_at IS NULL AND "
          "failed_at IS NULL AND next_attempt_at = 0 AND created_at <= $1 LIMIT $2)"},
    // The limits on certificate orders consider the last week.
    Plain{certificate_orders::kept_for,
          "SELECT 1 FROM certificate_orders WHERE ordered_at <= $1 LIMIT 1",
          "DELETE FROM certificate_orders WHERE id IN "
          "(SELECT id FROM certificate_orders WHERE ordered_at <= $1 LIMIT $2)"},
    Plain{accounts::address_remembered_for,
          "SELECT 1 FROM deleted_addresses WHERE deleted_at <= $1 LIMIT 1",
          "DELETE FROM deleted_addresses WHERE address_hash IN "
          "(SELECT address_hash FROM deleted_addresses WHERE deleted_at <= $1 LIMIT $2)"},
    Plain{answers_kept_for, "SELECT 1 FROM idempotency_keys WHERE created_at <= $1 LIMIT 1",
          "DELETE FROM idempotency_keys WHERE (principal, method, path, key) IN "
          "(SELECT principal, method, path, key FROM idempotency_keys "
          "WHERE created_at <= $1 LIMIT $2)"},
    Plain{chat::kept_for, "SELECT 1 FROM chat_entries WHERE sent_at <= $1 LIMIT 1",
          "DELETE FROM chat_entries WHERE seq IN "
          "(SELECT seq FROM chat_entries WHERE sent_at <= $1 LIMIT $2)"},
    // The ledger's postings show what happened to a hold. Its row is only kept for late questions
    // about it.
    Plain{holds_kept_for,
          "SELECT 1 FROM ledger_holds WHERE state <> 'open' AND closed_at <= $1 LIMIT 1",
          "DELETE FROM ledger_holds WHERE rowid IN "
          "(SELECT rowid FROM ledger_holds WHERE state <> 'open' AND closed_at <= $1 LIMIT $2)"},
};

// The limits consider the present day only. $1 is the first day that is kept.
struct Daily {
  std::string_view due;
  std::string_view remove;
};
constexpr std::array daily_rows = {
    Daily{"SELECT 1 FROM reward_days WHERE day < $1 LIMIT 1",
          "DELETE FROM reward_days WHERE (subject, day) IN "
          "(SELECT subject, day FROM reward_days WHERE day < $1 LIMIT $2)"},
    Daily{"SELECT 1 FROM unverified_letters WHERE day < $1 LIMIT 1",
          "DELETE FROM unverified_letters WHERE (address_hash, day) IN "
          "(SELECT address_hash, day FROM unverified_letters WHERE day < $1 LIMIT $2)"},
};

// Tokens of a family that may live on without them. A refresh token's row is needed as long as the
// token could be replayed, whether or not it was consumed, which is until it expires.
struct TokenTable {
  Duration kept;
  std::string_view due;
  std::string_view select;  // selects key and family_id
  std::string_view remove;  // takes the key
};
constexpr std::array token_tables = {
    TokenTable{told_for, "SELECT 1 FROM access_tokens WHERE expires_at <= $1 LIMIT 1",
               "SELECT token_hash, family_id FROM access_tokens WHERE expires_at <= $1 LIMIT $2",
               "DELETE FROM access_tokens WHERE token_hash = $1"},
    TokenTable{Duration(0), "SELECT 1 FROM refresh_tokens WHERE expires_at <= $1 LIMIT 1",
               "SELECT token_hash, family_id FROM refresh_tokens WHERE expires_at <= $1 LIMIT $2",
               "DELETE FROM refresh_tokens WHERE token_hash = $1"},
    TokenTable{told_for, "SELECT 1 FROM play_sessions WHERE expires_at <= $1 LIMIT 1",
               "SELECT id, family_id FROM play_sessions WHERE expires_at <= $1 LIMIT $2",
               "DELETE FROM play_sessions WHERE id = $1"},
};

constexpr std::string_view due_families =
    "SELECT id FROM token_families WHERE expires_at <= $1 "
    "UNION SELECT id FROM token_families WHERE revoked_at <= $1 LIMIT $2";
constexpr std::string_view grants_of_deleted_apps =
    "SELECT g.id FROM apps a JOIN grants g ON g.app_id = a.id "
    "WHERE a.deleted_at IS NOT NULL AND g.revoked_at IS NULL LIMIT $1";
constexpr std::string_view due_grants =
    "SELECT g.id FROM grants g WHERE g.revoked_at <= $1 "
    "AND NOT EXISTS (SELECT 1 FROM token_families f WHERE f.grant_id = g.id) "
    "AND NOT EXISTS (SELECT 1 FROM authorization_codes c WHERE c.grant_id = g.id) LIMIT $2";

template <typename... Values>
std::vector<std::string> ids(db::Tx& tx, std::string_view sql, const Values&... values) {
  std::vector<std::string> found;
  auto rows = tx.query(sql, values...);
  while (rows.next()) found.push_back(rows.text(0));
  return found;
}

// The rows that belong to a family. A family that is refreshed all the time has hundreds of
// thousands of tokens.
constexpr std::array family_rows = {
    "DELETE FROM authorization_codes WHERE rowid IN "
    "(SELECT rowid FROM authorization_codes WHERE family_id = $1 LIMIT $2)",
    "DELETE FROM access_tokens WHERE token_hash IN "
    "(SELECT token_hash FROM access_tokens WHERE family_id = $1 LIMIT $2)",
    "DELETE FROM refresh_tokens WHERE token_hash IN "
    "(SELECT token_hash FROM refresh_tokens WHERE family_id = $1 LIMIT $2)",
    "DELETE FROM play_sessions WHERE id IN "
    "(SELECT id FROM play_sessions WHERE family_id = $1 LIMIT $2)",
};

// The family itself is deleted after the last of its rows.
int remove_family(db::Tx& tx, const std::string& id, int limit) {
  int removed = 0;
  for (const char* remove : family_rows)
    if (removed < limit) removed += tx.execute(remove, id, limit - removed);
  if (removed < limit) removed += tx.execute("DELETE FROM token_families WHERE id = $1", id);
  return removed;
}

// A family without tokens can't get new ones, even long before its own end.
bool is_empty(db::Tx& tx, const std::string& family) {
  return tx.number(
             "SELECT EXISTS (SELECT 1 FROM refresh_tokens WHERE family_id = $1) "
             "OR EXISTS (SELECT 1 FROM access_tokens WHERE family_id = $1) "
             "OR EXISTS (SELECT 1 FROM play_sessions WHERE family_id = $1)",
             family) == 0;
}

int remove_tokens(db::Tx& tx, const TokenTable& table, int limit) {
  std::vector<std::string> keys;
  std::set<std::string> families;
  {
    auto rows = tx.query(table.select, tx.now() - table.kept, limit);
    while (rows.next()) {
      keys.push_back(rows.text(0));
      families.insert(rows.text(1));
    }
  }
  int removed = 0;
  for (const std::string& key : keys) removed += tx.execute(table.remove, key);
  // Each family is removed as a whole, because nothing refers to it once its last token is gone,
  // and few rows of it are left.
  for (const std::string& family : families)
    if (is_empty(tx, family)) removed += remove_family(tx, family, std::numeric_limits<int>::max());
  return removed;
}

int remove_families(db::Tx& tx, int limit) {
  int removed = 0;
  for (const std::string& id : ids(tx, due_families, tx.now() - told_for, limit)) {
    removed += remove_family(tx, id, limit - removed);
    if (removed >= limit) break;
  }
  return removed;
}

// Consents to a deleted app can't be used any more. Revoking them here starts their removal.
int revoke_grants_of_deleted_apps(db::Tx& tx, int limit) {
  const auto grants = ids(tx, grants_of_deleted_apps, limit);
  for (const std::string& id : grants) connections::end_grant(tx, id);
  return int(grants.size());
}

int remove_grants(db::Tx& tx, int limit) {
  const auto grants = ids(tx, due_grants, tx.now() - told_for, limit);
  for (const std::string& id : grants) tx.execute("DELETE FROM grants WHERE id = $1", id);
  return int(grants.size());
}

}  // namespace

bool is_anything_due(db::Tx& tx) {
  for (const Plain& rows : plain_rows)
    if (tx.number(rows.due, tx.now() - rows.kept) > 0) return true;
  for (const Daily& rows : daily_rows)
    if (tx.number(rows.due, utc_day(tx.now()) - 1) > 0) return true;
  for (const TokenTable& table : token_tables)
    if (tx.number(table.due, tx.now() - table.kept) > 0) return true;
  return erasure::is_due(tx) || !ids(tx, due_families, tx.now() - told_for, 1).empty() ||
         !ids(tx, grants_of_deleted_apps, 1).empty() ||
         !ids(tx, due_grants, tx.now() - told_for, 1).empty();
}

int remove_some(db::Tx& tx, int limit) {
  int removed = 0;
  for (const Plain& rows : plain_rows)
    if (removed < limit) removed += tx.execute(rows.remove, tx.now() - rows.kept, limit - removed);
  for (const Daily& rows : daily_rows)
    if (removed < limit) removed += tx.execute(rows.remove, utc_day(tx.now()) - 1, limit - removed);
  for (const TokenTable& table : token_tables)
    if (removed < limit) removed += remove_tokens(tx, table, limit - removed);
  if (removed < limit) removed += revoke_grants_of_deleted_apps(tx, limit - removed);
  if (removed < limit) removed += remove_families(tx, limit - removed);
  if (removed < limit) removed += remove_grants(tx, limit - removed);
  if (removed < limit) removed += erasure::erase_some(tx, limit - removed);
  return removed;
}

}  // namespace berth::expiry
