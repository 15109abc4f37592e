#include "api/authenticate.h"

#include <algorithm>
#include <cctype>

namespace berth::api {
namespace {

constexpr size_t max_admin_actor_length = 128;

// What a token calls itself. `unknown` may still be anything that isn't ours.
enum class TokenKind { jwt, access, refresh, play_session, other_of_ours, unknown };

TokenKind kind_of(const std::string& token) {
  if (accounts::looks_like_jwt(token)) return TokenKind::jwt;
  if (token.starts_with("at_live_")) return TokenKind::access;
  if (token.starts_with("rt_live_")) return TokenKind::refresh;
  if (token.starts_with("st_live_")) return TokenKind::play_session;
  return token.find("_live_") == std::string::npos ? TokenKind::unknown : TokenKind::other_of_ours;
}

void use_session(db::Tx& tx, const std::string& token, const Services& services, Call& call) {
  accounts::SignedIn signed_in = accounts::check_signed_in(tx, token, services.keys);
  call.user = std::move(signed_in.user);
  call.session_id = std::move(signed_in.session_id);
}

void use_play_session(db::Tx& tx, const std::string& token, const Services& services, Call& call) {
  call.play = play::check(tx, token);
  services.uses.note(call.play->grant_id, tx.now());
}

void use_access_token(db::Tx& tx, const std::string& token, const Access& access,
                      const Services& services, Call& call) {
  call.caller = oauth::check_access_token(tx, token);
  services.uses.note(call.caller->grant_id, tx.now());
  const bool enough = access.any_of.empty() || std::ranges::any_of(access.any_of, [&](Scope scope) {
                        return call.caller->scopes.has(scope);
                      });
  if (!enough)
    throw Error(Code::insufficient_scope,
                "the token lacks the scope " + scope_names(access.any_of));
}

accounts::User user_of(db::Tx& tx, const std::string& id) {
  auto user = accounts::find(tx, id);
  if (!user) throw Error(Code::token_revoked, "the account was deleted");
  return *std::move(user);
}

[[noreturn]] void refuse_kind(const char* needed) {
  throw Error(Code::wrong_token_type, std::string(needed) + " is needed here");
}

void by_session(db::Tx& tx, const std::string& token, const Services& services, Call& call) {
  const TokenKind kind = kind_of(token);
  if (kind != TokenKind::jwt && kind != TokenKind::unknown)
    refuse_kind("a session token of POST /api/auth/login");
  use_session(tx, token, services, call);
}

void by_play_session(db::Tx& tx, const std::string& token, const Services& services, Call& call) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::access || kind == TokenKind::refresh)
    refuse_kind("a session token of an app (st_live_…)");
  use_play_session(tx, token, services, call);
}

void by_access_token(db::Tx& tx, const std::string& token, const Access& access,
                     const Services& services, Call& call) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::play_session || kind == TokenKind::refresh)
    refuse_kind("an OAuth access token (at_live_…)");
  use_access_token(tx, token, access, services, call);
}

void by_session_or_play_session(db::Tx& tx, const std::string& token, const Services& services,
                                Call& call) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown)
    return use_session(tx, token, services, call);
  if (kind != TokenKind::play_session)
    refuse_kind("a session token, of POST /api/auth/login or of an app (st_live_…),");
  use_play_session(tx, token, services, call);
  // Only the session's own routes go on telling of one that has ended.
  if (call.play->ended_at) throw Error(Code::token_revoked, "the session has ended");
  call.user = user_of(tx, call.play->user_id);
}

void by_session_or_access_token(db::Tx& tx, const std::string& token, const Access& access,
                                const Services& services, Call& call) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown)
    return use_session(tx, token, services, call);
  if (kind != TokenKind::access)
    refuse_kind("a session token of POST /api/auth/login or an OAuth access token (at_live_…)");
  use_access_token(tx, token, access, services, call);
  call.user = user_of(tx, call.caller->user_id);
}

}  // namespace

std::string bearer_token(const Request& request) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view value = request.headers.get("Authorization");
  if (value.size() <= scheme.size()) return {};
  const bool is_bearer =
      std::equal(scheme.begin(), scheme.end(), value.begin(), [](char expected, char given) {
        return expected == std::tolower(static_cast<unsigned char>(given));
      });
  return is_bearer ? std::string(value.substr(value.find_first_not_of(' ', scheme.size() - 1)))
                   : std::string();
}

std::string scope_names(const std::vector<Scope>& scopes) {
  std::string names;
  for (const Scope scope : scopes) names.append(names.empty() ? "" : " ").append(info(scope).name);
  return names;
}

void authenticate(db::Tx& tx, const Access& access, const Services& services, Call& call) {
  if (access.kind == Access::Kind::open) return;
  if (access.kind == Access::Kind::internal) {
    const std::string_view actor = call.http.headers.get("X-Admin-Actor");
    const bool usable = !actor.empty() && actor.size() <= max_admin_actor_length;
    call.admin = usable ? std::string(actor) : "internal";
    return;
  }
  const std::string token = bearer_token(call.http);
  if (token.empty())
    throw Error(Code::invalid_token, "a token is needed: Authorization: Bearer <token>");
  switch (access.kind) {
    case Access::Kind::open:
    case Access::Kind::internal:
      return;
    case Access::Kind::session:
      return by_session(tx, token, services, call);
    case Access::Kind::play_session:
      return by_play_session(tx, token, services, call);
    case Access::Kind::oauth:
      return by_access_token(tx, token, access, services, call);
    case Access::Kind::session_or_play_session:
      return by_session_or_play_session(tx, token, services, call);
    case Access::Kind::session_or_oauth:
      return by_session_or_access_token(tx, token, access, services, call);
  }
}

}  // namespace berth::api
