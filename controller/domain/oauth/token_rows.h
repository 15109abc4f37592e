#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/kernel/scopes.h"

// How consents, families and tokens are stored; for the files of this folder alone.
namespace berth::oauth {

// A family: everything that one authorization gave. Its end is absolute.
struct Family {
  std::string id;
  Instant end;
};
// The grant's oldest families end where there are more than so many: each login into an app opens
// one, and one that nobody uses stays for as long as its refresh token lives.
inline constexpr int max_families_per_grant = 1'000;
Family open_family(db::Tx& tx, const std::string& grant_id, const ScopeSet& scopes,
                   Duration lifetime);
void revoke_family(db::Tx& tx, const std::string& family_id);

// `narrowed`: where the token has less than its family.
std::string add_access_token(db::Tx& tx, const std::string& family_id, Instant expires_at,
                             const std::optional<ScopeSet>& narrowed = {});
std::string add_refresh_token(db::Tx& tx, const Family& family);

// Ends every family and every unused code of the grant.
void revoke_contents(db::Tx& tx, const std::string& grant_id);

// What of the granted scopes may be had right now: those that the app is approved for, and the
// operators' ones only where the user owns the app.
ScopeSet usable(const ScopeSet& granted, const ScopeSet& approved, bool user_owns_app);

// What the functions below read of a token's family, grant, user and app: "SELECT …, ", to be
// continued with columns of one's own and FROM with the token's table as `t`, and what follows it.
// $1 is the token's hash.
extern const std::string select_holder;
extern const std::string of_token;

struct Holder {
  std::string grant_id;
  std::string user_id;
  std::string app_id;
  ScopeSet scopes;  // of the family, as far as they are usable
  Instant family_end;
};
Holder holder_of(const db::Query& row);
bool is_held_by(const db::Query& row, const std::string& app_id);
// Throws token_revoked, token_expired and account_suspended, in this order. `expires_at` is the
// token's own.
void check_holder(const db::Query& row, Instant expires_at, Instant now);

}  // namespace berth::oauth
