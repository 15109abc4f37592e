#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/gate/rate.h"
#include "api/gate/services.h"
#include "api/transport/http.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/oauth.h"

// One row of the table of routes: everything that the gate has to know to serve it and that
// openapi.json has to say about it.
namespace berth::api {

using nlohmann::json;

// Who may call, and what he shows for it.
struct Access {
  enum class Kind {
    open,
    session,
    oauth,
    play_session,
    session_or_play_session,
    session_or_oauth,
    internal
  } kind = Kind::open;
  std::vector<Scope> any_of;  // of an OAuth token: one of them is enough; none: any token will do
};
inline Access open_to_all() { return {}; }
inline Access session() { return {Access::Kind::session, {}}; }
inline Access oauth_token(std::vector<Scope> any_of) {
  return {Access::Kind::oauth, std::move(any_of)};
}
// The session token (st_live_) that an app got for a user.
inline Access play_session() { return {Access::Kind::play_session, {}}; }
// A session JWT, or a session token (st_live_) whose session hasn't ended: the user himself, or he
// in an app. Call::user is there either way, Call::play with the latter.
inline Access jwt_or_play_session() { return {Access::Kind::session_or_play_session, {}}; }
// A session JWT, or an OAuth token with one of the scopes. Call::user is there either way,
// Call::caller with the latter. JWTs need no scope.
inline Access jwt_or_oauth(std::vector<Scope> any_of) {
  return {Access::Kind::session_or_oauth, std::move(any_of)};
}
inline Access internal() { return {Access::Kind::internal, {}}; }

// The body of an error (specification, "Errors"). `simple`: 401 and 403 are simple, the rest
// nested. `oauth_and_message`: an OAuth operation among the account's ones, whose callers look for
// `message`.
enum class Shape { nested, oauth, oauth_and_message, simple };
inline bool is_oauth(Shape shape) {
  return shape == Shape::oauth || shape == Shape::oauth_and_message;
}

enum class Body { none, only_json, optional_json, json_or_form };
enum class Availability { always, development_only };
enum class Idempotency { ignored, kept };
// by_handler: where the specification asks for other codes than validation_failed; the schema is
// for the document alone.
enum class Check { by_schema, by_handler };

struct Param {  // of the query
  std::string_view name;
  std::string_view type;  // string or integer
  std::string_view description;
  bool required = false;
  std::string_view example = {};
};

struct Route;

// A request that has passed the gate.
struct Call {
  const Request& http;
  const Route* route;  // its row of the table
  std::string request_id;
  std::map<std::string, std::string, std::less<>> path;  // the values of {placeholders}
  json body;
  std::string address;  // the caller's, as far as trusted proxies tell it
  // Where the route takes a session JWT; with jwt_or_… also the user whom the other token stands
  // for.
  std::optional<accounts::User> user;
  std::string session_id;               // of the session JWT, where one was shown
  std::optional<oauth::Caller> caller;  // of the OAuth token, where one was shown
  std::optional<play::Session> play;    // of the session token of an app, where one was shown
  std::string admin;                    // X-Admin-Actor, or "internal"

  const std::string& id(std::string_view name = "id") const { return path.find(name)->second; }
  std::optional<std::string> query(std::string_view name) const;
  PageRequest page() const;  // throws validation_failed
};

struct Reply {
  int status = 200;
  json body = json::object();
  // Instead of `body`: JSON that was printed before, for answers that are large and don't change.
  std::string text = {};
  // Instead of both: what goes on after the handler; of the type that the route's answer names,
  // or of this one.
  Stream stream = {};
  std::string content_type = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // The transaction is kept and the answer is a refusal all the same: a replay that revokes. The
  // fields of `body` stand beside the refusal's.
  std::optional<Error> refusal = {};
};

using Read = Reply (*)(db::Tx&, const Call&, const Services&);   // on a snapshot
using Write = Reply (*)(db::Tx&, const Call&, const Services&);  // answered once it is on disk
// Has its own transactions, because something slow (argon2) stands between them.
using Free = Reply (*)(const Call&, const Services&);
struct ReadHandler {
  Read run;
};
struct WriteHandler {
  Write run;
};
struct FreeHandler {
  Free run;
};
using AnyHandler = std::variant<ReadHandler, WriteHandler, FreeHandler>;

struct Answer {
  int status = 200;
  std::string_view schema;  // a name in schemas/*.yaml
  std::string_view content_type = "application/json";
  std::string_view by_accept = {};   // another content type, for those whose Accept names it
  std::string_view or_nothing = {};  // when it is 204 instead
};

struct Route {
  std::string_view method;
  std::string_view path;  // with {placeholders}
  std::string_view name;  // operationId
  std::string_view tag;
  std::string_view summary;
  Access access = {};
  Rate rate = {};
  Shape shape = Shape::nested;
  Body body_kind = Body::none;
  std::string_view body = {};  // the schema of the request
  Check check = Check::by_schema;
  std::vector<Param> query = {};
  Answer answer = {};
  std::vector<Code> errors = {};  // beside those that follow from access, rate and body
  Idempotency idempotency = Idempotency::ignored;
  Availability availability = Availability::always;
  AnyHandler run;
};

// The table: routes.cpp.
const std::vector<Route>& routes();

}  // namespace berth::api
