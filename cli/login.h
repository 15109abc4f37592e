#pragma once

#include <string>
#include <vector>

#include "cli/api.h"

// Where tokens come from, and how they stay fresh.
namespace berth::cli {

// What the client asks for at most: what its commands need, of what the app may have.
const std::vector<std::string>& useful_scopes();

// The redirect URI that the client registers: of a loopback address without a port, so that any
// free port will do (RFC 8252, section 7.3).
constexpr const char* loopback_redirect_uri = "http://127.0.0.1/callback";

struct Pkce {
  std::string verifier;
  std::string challenge;  // S256 (RFC 7636, section 4.2)
};
Pkce new_pkce();

// What a token endpoint's answer holds. Throws Failure where it is a refusal or no tokens.
Tokens tokens_in(const HttpResponse& response, Grant grant);

// The grants, at POST /api/oauth/token. They store nothing.
Tokens exchange_code(Api& api, const StoredApp& app, const std::string& code,
                     const std::string& redirect_uri, const std::string& verifier);
Tokens client_credentials(Api& api, const std::string& client_id, const std::string& secret,
                          const std::string& scope);
// The code comes from authorize by the account's own session instead of a browser. `scope` empty:
// the useful ones among those that the app is approved for.
Tokens authorize_by_session(Api& api, const StoredApp& app, const std::string& jwt,
                            const std::string& scope);

// The credentials of a run. In this order: BERTH_TOKEN; --client-id with BERTH_CLIENT_SECRET
// (client credentials, for this run alone); the stored app's tokens, renewed where they are about
// to end: by the refresh token, else by the app's secret, else by the account's session.
class Login {
 public:
  explicit Login(Api& api) : api_(api) {}

  std::string session();       // throws Failure not_logged_in
  std::string access_token();  // likewise

  enum class Why { refused, lacks_scope };
  // The server didn't take the token. Whether there is another one now.
  bool renew(Why why);

 private:
  StoredApp app_in_use(Account& account) const;
  std::string stored_token();
  void replace(const std::string& old_token, Why why);

  Api& api_;
  std::string token_;  // in use in this run
};

}  // namespace berth::cli
