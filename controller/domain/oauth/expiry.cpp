#include "controller/domain/oauth/expiry.h"

#include <array>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/apps/app_changes.h"
#include "controller/domain/apps/unregistered.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/trusts.h"

namespace berth::oauth {
namespace {

// Codes that weren't exchanged. A used code is kept as long as the family of its tokens.
constexpr std::string_view any_old_code = R"(
      SELECT 1
      FROM authorization_codes
      WHERE family_id IS NULL AND expires_at <= $1
      LIMIT 1)";
constexpr std::string_view remove_codes = R"(
      DELETE FROM authorization_codes
      WHERE code_hash IN (SELECT code_hash
                          FROM authorization_codes
                          WHERE family_id IS NULL AND expires_at <= $1
                          LIMIT $2))";

constexpr std::string_view any_old_device_code = R"(
      SELECT 1
      FROM device_codes
      WHERE expires_at <= $1
      LIMIT 1)";
constexpr std::string_view remove_device_codes = R"(
      DELETE FROM device_codes
      WHERE device_code_hash IN (SELECT device_code_hash
                                 FROM device_codes
                                 WHERE expires_at <= $1
                                 LIMIT $2))";

// How expired tokens are removed from a family that still exists. A refresh token's row is needed
// until the token expires, even if it was consumed, so that a replay is recognised.
struct TokenTable {
  Duration kept;            // after expires_at
  std::string_view any;     // a row that expired at $1 or before
  std::string_view select;  // at most $2 of them, as key and family_id
  std::string_view remove;  // removes the row with the key $1
};
constexpr std::array token_tables = {
    TokenTable{.kept = expired_kept_for,
               .any = R"(SELECT 1 FROM access_tokens WHERE expires_at <= $1 LIMIT 1)",
               .select = R"(
      SELECT token_hash AS key, family_id
      FROM access_tokens
      WHERE expires_at <= $1
      LIMIT $2)",
               .remove = R"(DELETE FROM access_tokens WHERE token_hash = $1)"},
    TokenTable{.kept = Duration(0),
               .any = R"(SELECT 1 FROM refresh_tokens WHERE expires_at <= $1 LIMIT 1)",
               .select = R"(
      SELECT token_hash AS key, family_id
      FROM refresh_tokens
      WHERE expires_at <= $1
      LIMIT $2)",
               .remove = R"(DELETE FROM refresh_tokens WHERE token_hash = $1)"},
    TokenTable{.kept = expired_kept_for,
               .any = R"(SELECT 1 FROM play_sessions WHERE expires_at <= $1 LIMIT 1)",
               .select = R"(
      SELECT id AS key, family_id
      FROM play_sessions
      WHERE expires_at <= $1
      LIMIT $2)",
               .remove = R"(DELETE FROM play_sessions WHERE id = $1)"},
};

constexpr std::string_view old_families = R"(
      SELECT id
      FROM token_families
      WHERE expires_at <= $1
      UNION ALL
      SELECT id
      FROM token_families
      WHERE revoked_at <= $1 AND expires_at > $1
      LIMIT $2)";
constexpr std::string_view grants_of_app = R"(
      SELECT id
      FROM grants
      WHERE app_id = $1 AND revoked_at IS NULL
      LIMIT $2)";
constexpr std::string_view old_grants = R"(
      SELECT g.id
      FROM grants g
      WHERE g.revoked_at <= $1
        AND NOT EXISTS (SELECT 1 FROM token_families f WHERE f.grant_id = g.id)
        AND NOT EXISTS (SELECT 1 FROM authorization_codes c WHERE c.grant_id = g.id)
      LIMIT $2)";

template <typename... Values>
std::vector<std::string> ids(db::Tx& tx, std::string_view sql, const Values&... values) {
  std::vector<std::string> found;
  auto rows = tx.query(sql, values...);
  while (rows.next()) found.push_back(rows.text("id"));
  return found;
}

// The rows that belong to a family $1. A family that is refreshed all the time has hundreds of
// thousands of tokens.
constexpr std::array<std::string_view, 5> remove_from_family = {
    R"(
      DELETE FROM authorization_codes
      WHERE code_hash IN (SELECT code_hash FROM authorization_codes WHERE family_id = $1 LIMIT $2))",
    R"(
      DELETE FROM access_tokens
      WHERE token_hash IN (SELECT token_hash FROM access_tokens WHERE family_id = $1 LIMIT $2))",
    R"(
      DELETE FROM refresh_tokens
      WHERE token_hash IN (SELECT token_hash FROM refresh_tokens WHERE family_id = $1 LIMIT $2))",
    R"(
      DELETE FROM play_sessions
      WHERE id IN (SELECT id FROM play_sessions WHERE family_id = $1 LIMIT $2))",
    R"(
      DELETE FROM devices
      WHERE family_id IN (SELECT family_id FROM devices WHERE family_id = $1 LIMIT $2))",
};

// The family itself is deleted after the last of its rows.
int remove_family(db::Tx& tx, const std::string& id, int limit) {
  int removed = 0;
  for (const std::string_view sql : remove_from_family)
    if (removed < limit) removed += tx.execute(sql, id, limit - removed);
  if (removed < limit) removed += tx.execute(R"(DELETE FROM token_families WHERE id = $1)", id);
  return removed;
}

// Whether the family has no tokens. Then it can't get new ones, even if it hasn't expired.
bool is_empty(db::Tx& tx, const std::string& family) {
  return tx.number(
             R"(
      SELECT count(*)
      FROM token_families f
      WHERE f.id = $1
        AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.family_id = f.id)
        AND NOT EXISTS (SELECT 1 FROM access_tokens a WHERE a.family_id = f.id)
        AND NOT EXISTS (SELECT 1 FROM play_sessions p WHERE p.family_id = f.id))",
             family) > 0;
}

int remove_tokens(db::Tx& tx, const TokenTable& table, int limit) {
  std::vector<std::string> keys;
  std::set<std::string> families;
  {
    auto rows = tx.query(table.select, tx.now() - table.kept, limit);
    while (rows.next()) {
      keys.push_back(rows.text("key"));
      families.insert(rows.text("family_id"));
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
  for (const std::string& id : ids(tx, old_families, tx.now() - expired_kept_for, limit)) {
    removed += remove_family(tx, id, limit - removed);
    if (removed >= limit) break;
  }
  return removed;
}

// Consents to a deleted app can't be used any more, and there are no new ones. Revoking them here
// starts their removal. Returns how many consents were revoked and apps done with.
int revoke_grants_of_deleted_apps(db::Tx& tx, int limit) {
  int done = 0;
  for (const std::string& app_id : apps::with_consents_to_end(tx, limit)) {
    const int rest = limit - done;
    if (rest <= 0) break;
    const auto grants = ids(tx, grants_of_app, app_id, rest);
    for (const std::string& id : grants) connections::end_grant(tx, id);
    done += int(grants.size());
    if (int(grants.size()) == rest) break;  // there may be more of them
    apps::note_consents_ended(tx, app_id);
    ++done;
  }
  return done;
}

int remove_grants(db::Tx& tx, int limit) {
  const auto grants = ids(tx, old_grants, tx.now() - expired_kept_for, limit);
  for (const std::string& id : grants) tx.execute(R"(DELETE FROM grants WHERE id = $1)", id);
  return int(grants.size());
}

}  // namespace

bool is_any_old(db::Tx& tx) {
  if (tx.number(any_old_code, tx.now()) > 0) return true;
  if (tx.number(any_old_device_code, tx.now() - expired_kept_for) > 0) return true;
  if (is_any_used_id_old(tx)) return true;
  for (const TokenTable& table : token_tables)
    if (tx.number(table.any, tx.now() - table.kept) > 0) return true;
  return !ids(tx, old_families, tx.now() - expired_kept_for, 1).empty() ||
         !apps::with_consents_to_end(tx, 1).empty() || apps::is_any_to_forget(tx) ||
         !ids(tx, old_grants, tx.now() - expired_kept_for, 1).empty() ||
         personal_tokens::is_any_old(tx);
}

int remove_old(db::Tx& tx, int limit) {
  int removed = tx.execute(remove_codes, tx.now(), limit);
  // Device codes are kept for a while, so that the device is told that its code has expired.
  if (removed < limit)
    removed += tx.execute(remove_device_codes, tx.now() - expired_kept_for, limit - removed);
  if (removed < limit) removed += remove_used_ids(tx, limit - removed);
  for (const TokenTable& table : token_tables)
    if (removed < limit) removed += remove_tokens(tx, table, limit - removed);
  // Their consents end as those of deleted apps.
  if (removed < limit) removed += apps::forget_unregistered(tx, limit - removed);
  if (removed < limit) removed += revoke_grants_of_deleted_apps(tx, limit - removed);
  if (removed < limit) removed += remove_families(tx, limit - removed);
  if (removed < limit) removed += remove_grants(tx, limit - removed);
  if (removed < limit) removed += personal_tokens::remove_old(tx, limit - removed);
  return removed;
}

}  // namespace berth::oauth
