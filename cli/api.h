#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/credentials.h"
#include "cli/failure.h"
#include "cli/http.h"
#include "cli/settings.h"
#include "cli/websocket.h"

// berth's HTTP API for the commands: JSON in, JSON out, and errors as Failure.
namespace berth::cli {

// The credentials that a call is made with.
enum class As {
  nobody,
  account,  // the person's login, for apps, scopes and the account itself
  app,      // an access token that works for the current app, for deployments and campaigns
  admin,    // the platform's internal secret
};

struct Call {
  std::string method = "GET";
  std::string path;  // with the query
  As as = As::app;
  json body = nullptr;                                        // null: no body
  std::string archive = {};                                   // instead of it: a tar archive
  std::chrono::milliseconds time = std::chrono::seconds(60);  // for each attempt
  std::vector<std::string> headers = {};                      // "Name: value", besides the usual
  bool patient = true;                                        // false: a single attempt
};

// A stream of server-sent events or text. `sink` receives each piece, and returns false to end it.
struct Stream {
  std::string path;
  std::string accept;  // media type
  std::vector<std::string> headers = {};
  std::function<bool(std::string_view)> sink;
  bool has_end = false;  // whether breaking off before the end counts as a failure
  As as = As::app;
};

// The most items that Api::all() reads. No list of berth's is as long, so a server whose list
// doesn't end there isn't berth.
constexpr size_t most_items = 100'000;

class Login;

// Makes calls of the API. A call is tried again up to three times: after a 429 as Retry-After says
// (or after 1 s, 2 s and 4 s), and likewise after a 503 or a broken connection if repeating it does
// no harm. It isn't repeated if nothing listens at the address or its time is over. Every POST and
// PUT carries its own Idempotency-Key, which stays the same for all attempts. If an access token is
// refused, it is renewed once. Not thread-safe.
class Api {
 public:
  // Both arguments have to outlive this object.
  Api(const Settings& settings, CredentialStore& store);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  json call(const Call& call);  // throws Failure
  // The answer as it came, which needn't be JSON. Throws Failure unless its status is 200 to 299.
  HttpResponse answer(const Call& call);
  json get(const std::string& path, As as = As::app) { return call({.path = path, .as = as}); }
  json post(const std::string& path, const json& body = nullptr, As as = As::app) {
    return call({.method = "POST", .path = path, .as = as, .body = body});
  }
  // Reads the pages of a list by their cursors, until `most` items are there or no page is left.
  // Returns the answer of the first page with the items of all of them, and where the list goes on.
  json all(const std::string& path, const std::string& plural, As as = As::app,
           size_t most = most_items);
  // The same for a list in which names are looked up: reads it once, and then returns what it read.
  const json& once(const std::string& path, const std::string& plural, As as = As::app);
  // Runs until the server or the sink ends the stream. Returns false if the server says that
  // nothing more will come (204). Throws Failure if the server refuses or doesn't answer.
  bool stream(const Stream& stream);
  // Opens a WebSocket, with the credentials of As::app, once. Throws Failure if the server refuses
  // or doesn't answer.
  std::unique_ptr<WebSocket> open(const std::string& path, const std::string& subprotocol = "");
  // Returns status and body as they are, after the retries; for the token endpoints. Throws Failure
  // if there is no answer.
  HttpResponse raw(HttpRequest request, bool patient = true);

  const Settings& settings() const { return settings_; }
  CredentialStore& store() { return store_; }
  Login& login() { return *login_; }

 private:
  // The header fields that say who calls.
  std::vector<std::string> credentials(As as);
  bool renewed(const Call& call, const HttpResponse& response);
  HttpRequest request_of(const Call& call, const std::string& idempotency_key);

  const Settings& settings_;
  CredentialStore& store_;
  std::unique_ptr<Login> login_;
  std::map<std::string, json> read_;  // what once() has read, by path
};

}  // namespace berth::cli
