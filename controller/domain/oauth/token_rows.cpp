#include "controller/domain/oauth/token_rows.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/oauth.h"

namespace berth::oauth {
namespace {

// A LIMIT that no table reaches, for statements with an OFFSET: SQLite requires one.
constexpr auto all_of_them = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view refresh_prefix = "rt_live_";
constexpr size_t mark_bytes = 16;
constexpr size_t mark_length = 22;    // of these bytes in base64url
constexpr size_t secret_length = 43;  // of the 32 bytes of random_token()
constexpr size_t mark_hash_length = 24;
// How many tokens of its family a refresh looks at to find consumed ones to remove. A family that
// was refreshed many times within the grace has a row for each of them.
constexpr int looked_at_for_removal = 64;

// What the stored tokens with this mark begin with.
std::string hash_of_mark(const std::string& mark) {
  return token_hash(std::string(refresh_prefix) + mark).substr(0, mark_hash_length);
}
std::string stored_with(const std::string& mark_hash, const std::string& token) {
  return mark_hash + "." + token_hash(token);
}

// The stored tokens with this mark are those from `first` on and before `end`: a slash comes after
// a dot.
struct Range {
  std::string first, end;
};
Range range_of(const std::string& mark_hash) {
  return {.first = mark_hash + ".", .end = mark_hash + "/"};
}

// Whether the opening of this family also ends the surplus families of its grant. One opening in 16
// does, chosen by the last random bits of the id, because counting the living families of a grant
// that has max_families_per_grant of them takes a quarter of an exchange of a code.
bool ends_surplus(const Family& family) { return family.id.back() == '0'; }

void end_surplus_families(db::Tx& tx, const std::string& grant_id) {
  tx.execute_later(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE id IN (
        SELECT id
        FROM token_families
        WHERE grant_id = $1 AND revoked_at IS NULL AND expires_at > $2
        ORDER BY created_at DESC, id DESC
        LIMIT $4 OFFSET $3)
        AND revoked_at IS NULL)",
                   grant_id, tx.now(), max_families_per_grant, all_of_them);
}

}  // namespace

Family open_family(db::Tx& tx, const std::string& grant_id, const ScopeSet& scopes,
                   Duration lifetime, const std::optional<openid::Login>& login) {
  const Family family = {.id = new_uuid(tx.now()), .end = tx.now() + lifetime};
  tx.execute_later(R"(
      INSERT INTO token_families (id, grant_id, scopes, created_at, expires_at, session_id,
                                  authenticated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
                   family.id, grant_id, scopes.text(), tx.now(), family.end,
                   login ? std::optional(login->session_id) : std::nullopt,
                   login ? std::optional(login->authenticated_at) : std::nullopt);
  if (ends_surplus(family)) end_surplus_families(tx, grant_id);
  return family;
}

std::optional<openid::Login> login_of(const db::Query& row) {
  const auto session_id = row.text_or_null("session_id");
  const auto authenticated_at = row.instant_or_null("authenticated_at");
  if (!session_id || !authenticated_at) return std::nullopt;
  return openid::Login{.app_id = row.text("app_id"),
                       .session_id = *session_id,
                       .authenticated_at = *authenticated_at};
}

bool revoke_family(db::Tx& tx, const std::string& family_id) {
  return tx.execute(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE id = $1 AND revoked_at IS NULL)",
                    family_id, tx.now()) > 0;
}

void end_reused_family(db::Tx& tx, const std::string& family_id, const Reuse& reuse) {
  if (!revoke_family(tx, family_id)) return;
  audit::record(tx, reuse.by_client ? "app:" + reuse.app_id : "anonymous", "token.reuse", family_id,
                nlohmann::json{{"kind", reuse.kind}}.dump(), reuse.app_id, reuse.user_id);
}

std::string add_access_token(db::Tx& tx, const std::string& family_id, Instant expires_at,
                             const std::optional<ScopeSet>& narrowed) {
  const std::string token = random_token("at_live_");
  tx.execute_later(R"(
      INSERT INTO access_tokens (token_hash, family_id, expires_at, scopes)
      VALUES ($1, $2, $3, $4))",
                   token_hash(token), family_id, expires_at,
                   narrowed ? std::optional(narrowed->text()) : std::nullopt);
  return token;
}

std::string mark_of(const std::string& token) {
  const bool has_mark = token.starts_with(refresh_prefix) &&
                        token.size() == refresh_prefix.size() + mark_length + secret_length;
  return has_mark ? token.substr(refresh_prefix.size(), mark_length) : std::string();
}

std::string stored_refresh_token(const std::string& token) {
  const std::string mark = mark_of(token);
  return mark.empty() ? token_hash(token) : stored_with(hash_of_mark(mark), token);
}

void remove_consumed_tokens(db::Tx& tx, const Family& family, Instant consumed) {
  if (family.mark.empty()) return;
  const Range stored = range_of(family.mark_hash);
  tx.execute_later(R"(
      DELETE FROM refresh_tokens
      WHERE token_hash IN (
          SELECT token_hash
          FROM refresh_tokens
          WHERE token_hash >= $1 AND token_hash < $2
          ORDER BY token_hash
          LIMIT $4)
        AND consumed_at <= $3)",
                   stored.first, stored.end, consumed, looked_at_for_removal);
}

std::optional<std::string> relative_of(db::Tx& tx, const std::string& token) {
  const std::string mark = mark_of(token);
  if (mark.empty()) return std::nullopt;
  const Range stored = range_of(hash_of_mark(mark));
  auto rows = tx.query(R"(
      SELECT token_hash
      FROM refresh_tokens
      WHERE token_hash >= $1 AND token_hash < $2
      LIMIT 1)",
                       stored.first, stored.end);
  return rows.next() ? std::optional(rows.text("token_hash")) : std::nullopt;
}

std::string add_refresh_token(db::Tx& tx, const Family& family) {
  const bool is_first = family.mark.empty();
  const std::string mark = is_first ? base64url(random_bytes(mark_bytes)) : family.mark;
  const std::string token = random_token(std::string(refresh_prefix) + mark);
  tx.execute_later(R"(
      INSERT INTO refresh_tokens (token_hash, family_id, expires_at)
      VALUES ($1, $2, $3))",
                   stored_with(is_first ? hash_of_mark(mark) : family.mark_hash, token), family.id,
                   std::min(tx.now() + refresh_token_lifetime, family.end));
  return token;
}

Tokens add_tokens(db::Tx& tx, const Family& family, const ScopeSet& scopes,
                  const std::string& user_id, const std::optional<ScopeSet>& narrowed) {
  const Instant expires_at = std::min(tx.now() + access_token_lifetime, family.end);
  return {.access_token = add_access_token(tx, family.id, expires_at, narrowed),
          .access_token_expires_at = expires_at,
          .refresh_token = add_refresh_token(tx, family),
          .scopes = scopes,
          .user_id = user_id,
          .session_token = {},
          .session_token_expires_at = {},
          .family_id = family.id};
}

std::string built_in_grant(db::Tx& tx, const std::string& user_id) {
  auto rows = tx.query(R"(
      SELECT g.id
      FROM apps a
      JOIN grants g ON g.app_id = a.id AND g.user_id = $2
      WHERE a.client_id = $1)",
                       apps::built_in_client_id, user_id);
  return rows.next() ? rows.text("id") : std::string();
}

void count_app_users(db::Tx& tx, const std::string& app_id, int change) {
  tx.execute(R"(
      INSERT INTO app_users (app_id, users)
      VALUES ($1, 0)
      ON CONFLICT DO NOTHING)",
             app_id);
  tx.execute(R"(
      UPDATE app_users
      SET users = users + $2
      WHERE app_id = $1)",
             app_id, change);
}

void revoke_contents(db::Tx& tx, const std::string& grant_id) {
  tx.execute(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE grant_id = $1 AND revoked_at IS NULL)",
             grant_id, tx.now());
  tx.execute(R"(
      DELETE FROM authorization_codes
      WHERE grant_id = $1 AND family_id IS NULL)",
             grant_id);
  tx.execute(R"(
      UPDATE device_codes
      SET denied_at = $2
      WHERE grant_id = $1 AND denied_at IS NULL)",
             grant_id, tx.now());
}

ScopeSet usable(const ScopeSet& granted, const ScopeSet& approved, bool bears_operators) {
  const ScopeSet scopes = granted.cut_to(approved | ScopeSet::automatic() | ScopeSet::identity());
  return bears_operators ? scopes : scopes - ScopeSet::operators();
}

// The columns stand in the order in which check_holder() and holder_of() read them, which makes
// them cheap to find (db::Query): each call with a token reads all of them.
const std::string select_holder = R"(
    SELECT f.revoked_at AS family_revoked_at, g.revoked_at AS grant_revoked_at,
           a.deleted_at AS app_deleted_at, f.expires_at AS family_end,
           u.suspended_at AS user_suspended_at, a.suspended_at AS app_suspended_at,
           g.id AS grant_id, g.user_id, g.app_id, f.scopes AS family_scopes, a.approved_scopes,
           CASE WHEN g.user_id = a.owner_id OR a.built_in = 1 THEN 1 ELSE 0 END AS bears_operators,
           a.built_in, a.tells_of_spends, a.unregistered_until, u.guest_of,
           f.id AS family_id, f.deployments AS family_deployments,
           )";
const std::string of_token = R"(
    JOIN token_families f ON f.id = t.family_id
    JOIN grants g ON g.id = f.grant_id
    JOIN users u ON u.id = g.user_id
    JOIN apps a ON a.id = g.app_id
    WHERE t.token_hash = $1)";

Holder holder_of(const db::Query& row) {
  Holder holder;
  holder.family_end = row.instant("family_end");
  holder.grant_id = row.text("grant_id");
  holder.user_id = row.text("user_id");
  holder.app_id = row.text("app_id");
  const ScopeSet granted = stored_scopes(row.text("family_scopes"));
  const ScopeSet approved = stored_scopes(row.text("approved_scopes"));
  const bool bears_operators = row.flag("bears_operators");
  holder.scopes = usable(granted, approved, bears_operators);
  holder.built_in = row.flag("built_in");
  holder.owns_app = bears_operators && !holder.built_in;
  holder.tells_of_spends = row.flag("tells_of_spends");
  holder.unregistered = !row.null("unregistered_until");
  holder.is_guest = !row.null("guest_of");
  return holder;
}

bool is_held_by(const db::Query& row, const std::string& app_id) {
  return row.text("app_id") == app_id;
}

namespace {

[[noreturn]] void refuse_suspended() {
  throw Error(Code::account_suspended, "the account or the app is suspended");
}

}  // namespace

void check_holder(const db::Query& row, Instant expires_at, Instant now) {
  const auto family_revoked_at = row.instant_or_null("family_revoked_at");
  const bool is_grant_revoked = !row.null("grant_revoked_at");
  const bool is_app_deleted = !row.null("app_deleted_at");
  const Instant family_end = row.instant("family_end");
  const auto user_suspended_at = row.instant_or_null("user_suspended_at");
  const bool is_app_suspended = !row.null("app_suspended_at");
  // Whether the suspension of the account has ended the family, rather than the user or the app. A
  // caller who presents its tokens while the account is suspended gets an error that says so.
  const bool was_ended_by_suspension = !is_grant_revoked && !is_app_deleted && family_revoked_at &&
                                       user_suspended_at &&
                                       *family_revoked_at >= *user_suspended_at;
  if (was_ended_by_suspension) refuse_suspended();
  if (family_revoked_at || is_grant_revoked || is_app_deleted)
    throw Error(Code::token_revoked, "the token was revoked");
  // A family's end is absolute, so tokens that it gave shortly before expire with it.
  if (expires_at <= now || family_end <= now)
    throw Error(Code::token_expired, "the token has expired; refresh it");
  if (user_suspended_at || is_app_suspended) refuse_suspended();
}

const std::string find_refresh_token = select_holder + R"(
             t.expires_at, t.consumed_at, a.refresh_requires_client, f.session_id,
             f.authenticated_at
      FROM refresh_tokens t)" + of_token;

std::optional<ShownRefreshToken> find_shown(db::Tx& tx, const std::string& refresh_token) {
  std::string stored = stored_refresh_token(refresh_token);
  auto row = tx.query(find_refresh_token, stored);
  if (row.next())
    return ShownRefreshToken{
        .stored = std::move(stored), .row = std::move(row), .was_removed = false};
  const auto relative = relative_of(tx, refresh_token);
  if (!relative) return std::nullopt;
  auto other = tx.query(find_refresh_token, *relative);
  if (!other.next()) return std::nullopt;
  return ShownRefreshToken{
      .stored = std::move(stored), .row = std::move(other), .was_removed = true};
}

}  // namespace berth::oauth
