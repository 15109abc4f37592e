#include "controller/domain/apps/built_in.h"

#include <string>
#include <vector>

#include "controller/domain/accounts/keeper.h"
#include "controller/domain/apps/app_rows.h"

namespace berth::apps {
namespace {

constexpr std::string_view id = "00000000-0000-7000-8000-000000000002";
constexpr std::string_view description =
    "The command line of this platform. It manages all your apps for you; it can’t change your "
    "password or your second factor.";

// The client listens on any port of a loopback address (RFC 8252, section 7.3).
const std::vector<std::string> redirect_uris = {"http://127.0.0.1/callback",
                                                "http://[::1]/callback"};

// Returns all scopes but those that spend the user's points in an app's name, and those that log a
// user in to an app.
ScopeSet scopes() {
  ScopeSet all;
  for (const ScopeInfo& scope : all_scopes()) all.add(scope.scope);
  return all - ScopeSet::identity() - ScopeSet{Scope::points_spend, Scope::points_award};
}

}  // namespace

void add_built_in(db::Tx& tx) {
  accounts::add_keeper(tx);
  tx.execute(R"(
      INSERT INTO apps (id, owner_id, app_name, app_description, client_id, client_secret_hash,
                        redirect_uris, allowed_scopes, approved_scopes, session_tokens, is_public,
                        built_in, inserted_at, updated_at)
      VALUES ($1, $2, 'berth', $3, $4, '', $5, $6, $6, 0, 1, 1, $7, $7)
      ON CONFLICT (id) DO NOTHING)",
             id, accounts::keeper_id, description, built_in_client_id, stored_uris(redirect_uris),
             scopes().text(), tx.now());
}

}  // namespace berth::apps
