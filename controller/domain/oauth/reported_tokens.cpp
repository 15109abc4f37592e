#include "controller/domain/oauth/reported_tokens.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "controller/base/crypto.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::reported_tokens {

using messages::say;

namespace {

constexpr std::string_view actor = "token report";

// The family of an access token or a refresh token, while it can still be used.
struct Family {
  std::string id;
  std::string user_id;
  std::string app_name;
};
std::optional<Family> living_family(db::Tx& tx, const std::string& token) {
  constexpr std::string_view of_access_token = R"(
      SELECT f.id, g.user_id, a.app_name
      FROM access_tokens t
      JOIN token_families f ON f.id = t.family_id
      JOIN grants g ON g.id = f.grant_id
      JOIN apps a ON a.id = g.app_id
      WHERE t.token_hash = $1 AND f.revoked_at IS NULL AND f.expires_at > $2)";
  constexpr std::string_view of_refresh_token = R"(
      SELECT f.id, g.user_id, a.app_name
      FROM refresh_tokens t
      JOIN token_families f ON f.id = t.family_id
      JOIN grants g ON g.id = f.grant_id
      JOIN apps a ON a.id = g.app_id
      WHERE t.token_hash = $1 AND f.revoked_at IS NULL AND f.expires_at > $2)";
  const bool is_access_token = token.starts_with("at_live_");
  if (!is_access_token && !token.starts_with("rt_live_")) return std::nullopt;
  const auto found = [&](std::string_view sql, const std::string& stored) -> std::optional<Family> {
    auto rows = tx.query(sql, stored, tx.now());
    if (!rows.next()) return std::nullopt;
    return Family{
        .id = rows.text("id"), .user_id = rows.text("user_id"), .app_name = rows.text("app_name")};
  };
  if (is_access_token) return found(of_access_token, token_hash(token));
  if (auto family = found(of_refresh_token, oauth::stored_refresh_token(token))) return family;
  const auto relative = oauth::relative_of(tx, token);
  return relative ? found(of_refresh_token, *relative) : std::nullopt;
}

}  // namespace

bool is_any_living(db::Tx& tx, const std::string& token) {
  return personal_tokens::is_living(tx, token) || living_family(tx, token);
}

std::optional<std::string> report(db::Tx& tx, const std::string& token, const Keys& keys,
                                  const std::string& base_url) {
  const auto personal = personal_tokens::end(tx, token);
  const auto family = personal ? std::nullopt : living_family(tx, token);
  if (!personal && !family) return std::nullopt;
  if (family) oauth::revoke_family(tx, family->id);
  const std::string user_id = personal ? personal->user_id : family->user_id;
  const nlohmann::json details = {{"user_id", user_id},
                                  {"kind", personal ? "personal_token" : "token_family"}};
  audit::record(tx, actor, "token.report", personal ? personal->id : family->id, details.dump());
  const auto user = accounts::find(tx, user_id);
  if (!user) return user_id;
  const Language in = user->language;
  const std::string what =
      personal ? say(in, "the personal access token {name}", {{"name", personal->name}})
               : say(in, "the access of the app {name}", {{"name", family->app_name}});
  const outbox::Letter letter = {
      .to = user->email,
      .subject = say(in, "A token of your account was found in public"),
      .body = accounts::greeting(*user) +
              say(in,
                  "somebody has reported a token of your account that they found. It has "
                  "ended, so that nobody can use it any more:") +
              "\n\n  " + what + "\n\n" +
              say(in, "Look where the token was stored, and what was done with it: {link}",
                  {{"link", base_url + "/account"}}) +
              "\n"};
  accounts::send(tx, *user, keys, letter);
  return user_id;
}

}  // namespace berth::reported_tokens
