#include "controller/domain/oauth/token_rows.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/oauth/oauth.h"

namespace berth::oauth {

Family open_family(db::Tx& tx, const std::string& grant_id, const ScopeSet& scopes,
                   Duration lifetime) {
  const Family family = {.id = new_uuid(tx.now()), .end = tx.now() + lifetime};
  tx.execute(
      "INSERT INTO token_families (id, grant_id, scopes, created_at, expires_at) "
      "VALUES ($1, $2, $3, $4, $5)",
      family.id, grant_id, scopes.text(), tx.now(), family.end);
  tx.execute(
      "UPDATE token_families SET revoked_at = $2 WHERE id IN (SELECT id FROM token_families "
      "WHERE grant_id = $1 AND revoked_at IS NULL ORDER BY created_at DESC, id DESC "
      "LIMIT -1 OFFSET $3)",
      grant_id, tx.now(), max_families_per_grant);
  return family;
}

void revoke_family(db::Tx& tx, const std::string& family_id) {
  tx.execute("UPDATE token_families SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
             family_id, tx.now());
}

std::string add_access_token(db::Tx& tx, const std::string& family_id, Instant expires_at,
                             const std::optional<ScopeSet>& narrowed) {
  const std::string token = random_token("at_live_");
  tx.execute(
      "INSERT INTO access_tokens (token_hash, family_id, expires_at, scopes) "
      "VALUES ($1, $2, $3, $4)",
      token_hash(token), family_id, expires_at,
      narrowed ? std::optional(narrowed->text()) : std::nullopt);
  return token;
}

std::string add_refresh_token(db::Tx& tx, const Family& family) {
  const std::string token = random_token("rt_live_");
  tx.execute("INSERT INTO refresh_tokens (token_hash, family_id, expires_at) VALUES ($1, $2, $3)",
             token_hash(token), family.id, std::min(tx.now() + refresh_token_lifetime, family.end));
  return token;
}

void revoke_contents(db::Tx& tx, const std::string& grant_id) {
  tx.execute("UPDATE token_families SET revoked_at = $2 WHERE grant_id = $1 AND revoked_at IS NULL",
             grant_id, tx.now());
  tx.execute("DELETE FROM authorization_codes WHERE grant_id = $1 AND family_id IS NULL", grant_id);
}

ScopeSet usable(const ScopeSet& granted, const ScopeSet& approved, bool user_owns_app) {
  const ScopeSet scopes = granted & (approved | ScopeSet::automatic());
  return user_owns_app ? scopes : scopes - ScopeSet::operators();
}

const std::string holder_columns =
    "f.revoked_at, g.revoked_at, a.deleted_at, f.expires_at, u.suspended_at, a.suspended_at, "
    "f.scopes, a.approved_scopes, g.id, g.user_id, a.id, g.user_id = a.owner_id";
const std::string holder_joins =
    "JOIN token_families f ON f.id = t.family_id JOIN grants g ON g.id = f.grant_id "
    "JOIN users u ON u.id = g.user_id JOIN apps a ON a.id = g.app_id ";

Holder holder_of(const db::Query& row) {
  return {.grant_id = row.text(8),
          .user_id = row.text(9),
          .app_id = row.text(10),
          .scopes = usable(stored_scopes(row.text(6)), stored_scopes(row.text(7)), row.flag(11)),
          .family_end = row.instant(3)};
}

bool is_held_by(const db::Query& row, const std::string& app_id) { return row.text(10) == app_id; }

void check_holder(const db::Query& row, Instant expires_at, Instant now) {
  if (!row.null(0) || !row.null(1) || !row.null(2))
    throw Error(Code::token_revoked, "the token was revoked");
  // A family's end is absolute, so tokens that it gave shortly before expire with it.
  if (expires_at <= now || row.instant(3) <= now)
    throw Error(Code::token_expired, "the token has expired; refresh it");
  if (!row.null(4) || !row.null(5))
    throw Error(Code::account_suspended, "the account or the app is suspended");
}

}  // namespace berth::oauth
