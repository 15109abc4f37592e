#include "controller/domain/oauth/guest_tokens.h"

#include <utility>
#include <vector>

#include "controller/domain/accounts/guests.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::oauth {
namespace {

// What an app may do for its guests. They have no points but those that an admin has given them,
// and the app that made them is the only one in which they can spend these.
const ScopeSet& scopes_of_guests() {
  static const ScopeSet scopes = {Scope::profile_read, Scope::points_read, Scope::points_spend};
  return scopes;
}

}  // namespace

Guest add_guest(db::Tx& tx, const apps::App& app) {
  if (app.is_public)
    throw Error(Code::unauthorized_client,
                "a public client can't prove who it is, so it can't make guests");
  const auto owner = accounts::find(tx, app.owner_id);
  if (app.suspended || !owner || owner->suspended)
    throw Error(Code::unauthorized_client, "the account or the app is suspended");
  const ScopeSet scopes = scopes_of_guests() & (app.approved_scopes | ScopeSet::automatic());
  const guests::Maker maker = {
      .app_id = app.id,
      .owner_id = app.owner_id,
      .is_approved = !app.approved_scopes.within(ScopeSet::automatic() | ScopeSet::identity())};
  Guest guest = {.user = guests::add(tx, maker, tx.now() + refresh_token_lifetime), .tokens = {}};
  const Family family =
      open_family(tx, consent(tx, app.id, guest.user.id, scopes), scopes, guest_family_lifetime);
  guest.tokens = add_tokens(tx, family, scopes, guest.user.id);
  if (app.session_tokens) {
    const play::Token session = play::start(tx, family.id, family.end);
    guest.tokens.session_token = session.token;
    guest.tokens.session_token_expires_at = session.expires_at;
  }
  return guest;
}

play::Token start_guest_session(db::Tx& tx, const Caller& guest) {
  if (!guest.is_guest)
    throw Error(Code::invalid_state,
                "this account isn't a guest's; send the user through the authorization instead");
  auto rows = tx.query(R"(
      SELECT f.expires_at, a.session_tokens
      FROM token_families f
      JOIN grants g ON g.id = f.grant_id
      JOIN apps a ON a.id = g.app_id
      WHERE f.id = $1)",
                       guest.family_id);
  if (!rows.next() || !rows.flag("session_tokens"))
    throw Error(Code::invalid_state, "the app doesn't take session tokens");
  return play::start(tx, guest.family_id, rows.instant("expires_at"));
}

std::optional<Instant> guest_refreshable_until(db::Tx& tx, const std::string& guest_id) {
  auto rows = tx.query(R"(
      SELECT max(t.expires_at) AS refreshable_until
      FROM grants g
      JOIN token_families f ON f.grant_id = g.id
      JOIN refresh_tokens t ON t.family_id = f.id
      WHERE g.user_id = $1
        AND g.revoked_at IS NULL
        AND f.revoked_at IS NULL
        AND t.consumed_at IS NULL
        AND t.expires_at > $2)",
                       guest_id, tx.now());
  return rows.next() ? rows.instant_or_null("refreshable_until") : std::nullopt;
}

void keep_tokens_of_guest(db::Tx& tx, const std::string& user_id, Duration lifetime) {
  static const ScopeSet lost = {Scope::points_spend};
  std::vector<std::pair<std::string, std::string>> grants;
  {
    auto rows = tx.query(R"(
        SELECT id, scopes
        FROM grants
        WHERE user_id = $1 AND revoked_at IS NULL
        LIMIT 1)",
                         user_id);  // a guest has one: that of the app that made them
    while (rows.next()) grants.emplace_back(rows.text("id"), rows.text("scopes"));
  }
  for (const auto& [id, scopes] : grants) {
    const std::string kept = (stored_scopes(scopes) - lost).text();
    tx.execute(R"(UPDATE grants SET scopes = $2 WHERE id = $1)", id, kept);
    tx.execute(R"(
        UPDATE token_families
        SET scopes = $2, expires_at = CASE WHEN expires_at > $3 THEN $3 ELSE expires_at END
        WHERE grant_id = $1 AND revoked_at IS NULL)",
               id, kept, tx.now() + lifetime);
  }
}

}  // namespace berth::oauth
