#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/api.h"

// Obtains tokens and renews them.
namespace berth::cli {

// The scopes that the client's commands need. It asks for those of them that the app may have.
const std::vector<std::string>& useful_scopes();
// Those that a login for all of a person's apps asks for, unless --scope says otherwise. Commands
// in containers aren't among them: somebody who wants to run them says so, since the tokens are in
// a file.
const std::vector<std::string>& scopes_of_login();

// The redirect URI that the client registers. It has a loopback address without a port, so that any
// free port can be used (RFC 8252, section 7.3).
constexpr const char* loopback_redirect_uri = "http://127.0.0.1/callback";

// The client_id of berth's own OAuth client. Every server has it, and it has no secret.
constexpr const char* built_in_client = "berth";

// That client, as far as requests for tokens need it.
StoredApp built_in_app();

struct Pkce {
  std::string verifier;
  std::string challenge;  // S256 (RFC 7636, section 4.2)
};
Pkce new_pkce();

// The tokens in a token endpoint's answer. Throws Failure if the answer is an error or has no
// tokens.
Tokens tokens_in(const HttpResponse& response, Grant grant);

// These request tokens from POST /api/oauth/token. They store nothing.
Tokens exchange_code(Api& api, const StoredApp& app, const std::string& code,
                     const std::string& redirect_uri, const std::string& verifier);
Tokens client_credentials(Api& api, const std::string& client_id, const std::string& secret,
                          const std::string& scope);
// Obtains the code from authorize with the account's session instead of a browser. If `scope` is
// empty, it asks for the useful scopes that the app is approved for.
Tokens authorize_by_session(Api& api, const StoredApp& app, const std::string& jwt,
                            const std::string& scope);

// The server's answer to a device that asks for a login (RFC 8628, section 3.2).
struct DeviceCodes {
  std::string device_code;
  std::string user_code;
  std::string verification_uri;
  std::chrono::seconds expires_in;
  std::chrono::seconds interval;
};
// Asks for the codes. Throws Failure if the server refuses or its answer isn't one.
DeviceCodes start_device_login(Api& api, const std::string& scope);
// Waits until the person has confirmed the code, and returns the tokens. Throws Failure `forbidden`
// if they deny it, and `timed_out` if the code expires.
Tokens finish_device_login(Api& api, const DeviceCodes& codes);

// Whether a server at the address `server` may call itself `issuer` (RFC 8414, section 3.3), or
// send a person there to enter a device's code. Only its own address will do: a server that names
// another one would have the browser ask that one for a code, and be sent the code itself (RFC
// 9207, section 1), or have a code of that one's allowed. A server on this machine, such as a
// tunnel to berth, is the person's own and may have any name.
bool is_name_of(const std::string& issuer, const std::string& server);

// Whether it is a personal access token, which works for all of its owner's apps, one of them or
// one deployment, and never for what concerns the account itself.
bool is_personal_token(const std::string& token);

// The credentials for a run, in this order: BERTH_TOKEN; --client-id with BERTH_CLIENT_SECRET
// (client credentials, for this run only); a CI job's ID token (job_login.h); the stored app's
// tokens; the login of the person, which works for all of their apps. After a login by password,
// that login is added when an app is used whose secret isn't stored on this machine. Stored tokens
// that are about to expire are renewed with the refresh token, else with the app's secret, else
// with the account's session.
class Login {
 public:
  explicit Login(Api& api) : api_(api) {}

  std::string session();        // the session JWT; throws Failure `not_logged_in`
  std::string account_token();  // the session JWT, or the person's login; throws the same
  std::string access_token();   // throws Failure `not_logged_in`
  // Returns the app that the last access_token() is to be used for, for the header Berth-App; empty
  // if the token itself belongs to an app, or the person has named none.
  const std::string& chosen_app() const { return chosen_app_; }

  enum class Why { refused, lacks_scope };
  // Call this when the server has refused the token. Returns whether there is a new token now.
  bool renew(Why why);
  // Like renew(), for the token that account_token() returned.
  bool renew_account();
  // After a login by password, also gets and stores the tokens of berth's own client, which work
  // for all of the person's apps without an app's secret. Returns false if there is no such login,
  // or these tokens are stored already, or the server refuses.
  bool add_built_in();

 private:
  StoredApp app_in_use(Account& account) const;
  std::string stored_token();
  void replace(const std::string& old_token, Why why);
  std::string login_token();
  void refresh_login(const std::string& old_token);
  std::string named_app(const std::string& name);
  bool is_job() const;
  std::string job_token(const std::string& old_token);

  Api& api_;
  std::string token_;        // the token that this run uses
  std::string login_token_;  // the token of the person's login, once it was used
  std::string chosen_app_;
};

}  // namespace berth::cli
