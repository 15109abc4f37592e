#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/credentials.h"
#include "cli/failure.h"
#include "cli/http.h"
#include "cli/settings.h"

// berth's HTTP API as the commands see it: JSON in, JSON out, refusals as Failure.
namespace berth::cli {

// As whom a call is made.
enum class As {
  nobody,
  account,  // the session JWT: apps, scopes, the account itself
  app,      // an OAuth access token of the app in use: deployments, campaigns, balance
  admin,    // the platform's internal secret
};

struct Call {
  std::string method = "GET";
  std::string path;  // with the query
  As as = As::app;
  json body = nullptr;                                        // null: none
  std::chrono::milliseconds time = std::chrono::seconds(60);  // for each attempt
};

// A stream of server-sent events or text; the callback returns false to end it.
struct Stream {
  std::string path;
  std::string accept;  // media type
  std::vector<std::string> headers = {};
  std::function<bool(std::string_view)> sink;
  bool has_end = false;  // so that one that breaks off before is a failure
};

class Login;

// A call waits and tries again up to three times: on 429 as Retry-After says (1 s, 2 s, 4 s where
// it doesn't), and on 503 and broken connections likewise, as far as the second time can't do harm;
// not where nobody listens or the time is over. Every POST and PUT carries an Idempotency-Key of
// its own, which is the same each time. An access token that is refused is renewed once. For one
// thread.
class Api {
 public:
  Api(const Settings& settings, CredentialStore& store);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  json call(const Call& call);  // throws Failure
  json get(const std::string& path, As as = As::app) { return call({.path = path, .as = as}); }
  json post(const std::string& path, const json& body = nullptr, As as = As::app) {
    return call({.method = "POST", .path = path, .as = as, .body = body});
  }
  // Everything of a paged list: the answer of the first page with the items of all.
  json all(const std::string& path, const std::string& plural, As as = As::app);
  // Until the server or the sink ends it. False where the server says that nothing will come any
  // more (204). Throws Failure where it is refused or nobody answers.
  bool stream(const Stream& stream);
  // The status and body as they come, after the retries: for the token endpoints. `form` may be
  // empty for GET.
  HttpResponse raw(HttpRequest request);

  const Settings& settings() const { return settings_; }
  CredentialStore& store() { return store_; }
  Login& login() { return *login_; }

 private:
  std::string authorization(As as);  // the header
  bool renewed(const Call& call, const HttpResponse& response);
  HttpRequest request_of(const Call& call, const std::string& idempotency_key);

  const Settings& settings_;
  CredentialStore& store_;
  std::unique_ptr<Login> login_;
};

}  // namespace berth::cli
