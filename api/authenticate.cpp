#include "api/authenticate.h"

#include <algorithm>
#include <cctype>

namespace berth::api {
namespace {

Bearer check_session(db::Tx& tx, const std::string& token, const Services& services) {
  if (!accounts::looks_like_jwt(token) && token.find("_live_") != std::string::npos)
    throw Error(Code::wrong_token_type, "a session token of POST /api/auth/login is needed here");
  accounts::SignedIn signed_in = accounts::check_signed_in(tx, token, services.keys);
  return {.user = std::move(signed_in.user), .session_id = std::move(signed_in.session_id)};
}

Bearer check_play_session(db::Tx& tx, const std::string& token) {
  if (accounts::looks_like_jwt(token) || token.starts_with("at_live_") ||
      token.starts_with("rt_live_"))
    throw Error(Code::wrong_token_type, "a session token of an app (st_live_…) is needed here");
  return {.play = play::check(tx, token)};
}

Bearer check_oauth(db::Tx& tx, const Access& access, const std::string& token) {
  if (accounts::looks_like_jwt(token) || token.starts_with("st_live_") ||
      token.starts_with("rt_live_"))
    throw Error(Code::wrong_token_type, "an OAuth access token (at_live_…) is needed here");
  const oauth::Caller caller = oauth::check_access_token(tx, token);
  const bool enough = access.any_of.empty() || std::ranges::any_of(access.any_of, [&](Scope scope) {
                        return caller.scopes.has(scope);
                      });
  if (!enough)
    throw Error(Code::insufficient_scope,
                "the token lacks the scope " + scope_names(access.any_of));
  return {.caller = caller};
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

Bearer check_bearer(db::Tx& tx, const Access& access, const std::string& token,
                    const Services& services) {
  if (access.kind == Access::Kind::open || access.kind == Access::Kind::internal) return {};
  if (token.empty())
    throw Error(Code::invalid_token, "a token is needed: Authorization: Bearer <token>");
  if (access.kind == Access::Kind::session) return check_session(tx, token, services);
  if (access.kind == Access::Kind::play_session) return check_play_session(tx, token);
  return check_oauth(tx, access, token);
}

}  // namespace berth::api
