#include "api/gate/authenticate.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr size_t max_admin_actor_length = 128;

// The kind of a token according to its prefix. `unknown` tokens may have come from anywhere.
enum class TokenKind { jwt, access, refresh, play_session, other_of_ours, unknown };

TokenKind kind_of(const std::string& token) {
  if (accounts::looks_like_jwt(token)) return TokenKind::jwt;
  if (token.starts_with("at_live_")) return TokenKind::access;
  if (token.starts_with("rt_live_")) return TokenKind::refresh;
  if (token.starts_with("st_live_")) return TokenKind::play_session;
  return token.find("_live_") == std::string::npos ? TokenKind::unknown : TokenKind::other_of_ours;
}

// For the security log.
std::string_view name_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::jwt:
      return "session_jwt";
    case TokenKind::access:
      return "access_token";
    case TokenKind::refresh:
      return "refresh_token";
    case TokenKind::play_session:
      return "play_session_token";
    case TokenKind::other_of_ours:
    case TokenKind::unknown:
      break;
  }
  return "unknown";
}

Bearer use_session(db::Tx& tx, const std::string& token, const Services& services) {
  accounts::SignedIn signed_in =
      accounts::check_signed_in(tx, token, services.keys, &services.session_uses);
  return {.user = std::move(signed_in.user),
          .session_id = std::move(signed_in.session_id),
          .ends_idle = signed_in.ends_idle};
}

Bearer use_play_session(db::Tx& tx, const std::string& token) {
  return {.play = play::check(tx, token)};
}

Bearer use_access_token(db::Tx& tx, const std::string& token, const Access& access) {
  const oauth::Caller caller = oauth::check_access_token(tx, token);
  const bool enough = access.any_of.empty() || std::ranges::any_of(access.any_of, [&](Scope scope) {
                        return caller.scopes.has(scope);
                      });
  if (!enough)
    throw Error(Code::insufficient_scope,
                "the token lacks the scope " + scope_names(access.any_of));
  return {.caller = caller};
}

accounts::User user_of(db::Tx& tx, const std::string& id) {
  auto user = accounts::find(tx, id);
  if (!user) throw Error(Code::token_revoked, "the account was deleted");
  return *std::move(user);
}

[[noreturn]] void refuse_kind(const char* needed) {
  throw Error(Code::wrong_token_type, std::string(needed) + " is required here");
}

Bearer by_session(db::Tx& tx, const std::string& token, const Services& services) {
  const TokenKind kind = kind_of(token);
  if (kind != TokenKind::jwt && kind != TokenKind::unknown)
    refuse_kind("a session token from POST /api/auth/login");
  return use_session(tx, token, services);
}

Bearer by_play_session(db::Tx& tx, const std::string& token) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::access || kind == TokenKind::refresh)
    refuse_kind("an app's session token (st_live_...)");
  return use_play_session(tx, token);
}

Bearer by_access_token(db::Tx& tx, const std::string& token, const Access& access) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::play_session || kind == TokenKind::refresh)
    refuse_kind("an OAuth access token (at_live_...)");
  return use_access_token(tx, token, access);
}

// Whether a request changes nothing as far as its method says (RFC 9110, section 9.2.1).
bool is_read(std::string_view method) { return method == "GET" || method == "HEAD"; }

Bearer by_session_or_play_session(db::Tx& tx, const std::string& token, const Services& services) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown) return use_session(tx, token, services);
  if (kind != TokenKind::play_session)
    refuse_kind(
        "a session token from POST /api/auth/login or an app's session token (st_live_...)");
  Bearer bearer = use_play_session(tx, token);
  // A session that has ended only gives access to its own routes, which report the end.
  if (bearer.play->ended_at) throw Error(Code::token_revoked, "the session has ended");
  bearer.user = user_of(tx, bearer.play->user_id);
  return bearer;
}

Bearer by_session_or_access_token(db::Tx& tx, const std::string& token, const Access& access,
                                  const Services& services) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown) return use_session(tx, token, services);
  if (kind != TokenKind::access)
    refuse_kind("a session token from POST /api/auth/login or an OAuth access token (at_live_...)");
  Bearer bearer = use_access_token(tx, token, access);
  bearer.user = user_of(tx, bearer.caller->user_id);
  return bearer;
}

}  // namespace

std::optional<std::string_view> credentials(const Request& request, std::string_view scheme) {
  const std::string_view value = request.headers.get("Authorization");
  const size_t end = std::min(value.find(' '), value.size());
  if (!same_name(value.substr(0, end), scheme)) return std::nullopt;
  return value.substr(std::min(value.find_first_not_of(' ', end), value.size()));
}

std::string bearer_token(const Request& request) {
  return std::string(credentials(request, "Bearer").value_or(""));
}

std::string admin_actor(const Request& request) {
  const std::string_view actor = request.headers.get("X-Admin-Actor");
  const bool usable = !actor.empty() && actor.size() <= max_admin_actor_length;
  return usable ? std::string(actor) : "internal";
}

std::string scope_names(const std::vector<Scope>& scopes) {
  std::string names;
  for (const Scope scope : scopes) names.append(names.empty() ? "" : " ").append(info(scope).name);
  return names;
}

bool takes_token(const Access& access) {
  return access.kind != Access::Kind::open && access.kind != Access::Kind::internal;
}

Bearer check_bearer(db::Tx& tx, const Access& access, const std::string& token,
                    const Services& services) {
  if (!takes_token(access)) return {};
  if (token.empty())
    throw Error(Code::invalid_token, "a token is required: Authorization: Bearer <token>");
  switch (access.kind) {
    case Access::Kind::session:
      return by_session(tx, token, services);
    case Access::Kind::play_session:
      return by_play_session(tx, token);
    case Access::Kind::oauth:
      return by_access_token(tx, token, access);
    case Access::Kind::session_or_play_session:
      return by_session_or_play_session(tx, token, services);
    case Access::Kind::session_or_oauth:
      return by_session_or_access_token(tx, token, access, services);
    case Access::Kind::open:
    case Access::Kind::internal:
      break;
  }
  return {};
}

void authenticate(db::Tx& tx, const Access& access, const Services& services, Call& call) {
  if (!takes_token(access)) return;
  const std::string token = bearer_token(call.http);
  Bearer bearer = [&] {
    try {
      return check_bearer(tx, access, token, services);
    } catch (Error& refusal) {
      // Whoever showed none was rejected no token.
      if (!token.empty()) {
        if (!refusal.event)
          refusal.event = {.kind = SecurityKind::token_rejected, .reason = name(refusal.code)};
        refusal.event->token_kind = name_of(kind_of(token));
      }
      throw;
    }
  }();
  // The session's own routes, which take nothing but its token, stay open: they don't act as the
  // user.
  if (bearer.play && access.kind == Access::Kind::session_or_play_session &&
      bearer.play->access == play::SessionAccess::read && !is_read(call.http.method))
    throw Error(Code::insufficient_scope,
                "the user allows this app only to read with its session token, not to act as them");
  if (bearer.caller) services.uses.note(bearer.caller->grant_id, tx.now());
  if (bearer.play) services.uses.note(bearer.play->grant_id, tx.now());
  if (bearer.ends_idle) services.session_uses.note(bearer.session_id, tx.now());
  call.user = std::move(bearer.user);
  call.session_id = std::move(bearer.session_id);
  call.caller = std::move(bearer.caller);
  call.play = std::move(bearer.play);
}

}  // namespace berth::api
