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
#include "controller/domain/kernel/write_budgets.h"
#include "controller/domain/oauth/oauth.h"

// A row of the table of routes: everything that the gate needs to serve a route and that
// openapi.json says about it, but for its description, which is in the resource's operations.yaml.
namespace berth::api {

using nlohmann::json;
using write_budgets::Stores;

// Who may call, and with which credentials.
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
  // Scopes of which an OAuth token needs one; if empty, any token will do.
  std::vector<Scope> any_of = {};
  // Which of berth's own programs may call in the name of the person who is logged in: the console
  // (console.h), and the built-in client with its access tokens.
  enum class FirstParty { none, console, console_and_client } first_party = FirstParty::none;
  // For which of the person's apps such a program calls if the kind is `oauth`. `one`: for the app
  // that it names by Berth-App; `one_or_all`: for all of them, unless it names one; `none`: for the
  // person, and for no app.
  enum class ForApp { one, one_or_all, none } for_app = ForApp::one;
};
inline Access open_to_all() { return {}; }
// A session JWT, or the console's cookie.
inline Access session() { return {Access::Kind::session, {}, Access::FirstParty::console}; }
// A session JWT only: for operations that the console must not perform by its cookie.
inline Access session_jwt() { return {Access::Kind::session}; }
// What session() accepts, or an access token of the built-in client, which needs one of the scopes.
inline Access person(std::vector<Scope> any_of = {}) {
  return {Access::Kind::session, std::move(any_of), Access::FirstParty::console_and_client};
}
inline Access oauth_token(std::vector<Scope> any_of, Access::ForApp for_app = Access::ForApp::one) {
  return {Access::Kind::oauth, std::move(any_of), Access::FirstParty::console_and_client, for_app};
}
// The session token (st_live_) that an app received for a user.
inline Access play_session() { return {Access::Kind::play_session, {}}; }
// A session JWT, or the session token (st_live_) of a play session that hasn't ended: the user
// calls directly or through an app. Call::user is set in both cases, Call::play with a session
// token.
inline Access jwt_or_play_session() {
  return {Access::Kind::session_or_play_session, {}, Access::FirstParty::console};
}
// A session JWT, which needs no scope, or an OAuth token with one of the scopes. Call::user is set
// in both cases, Call::caller with an OAuth token.
inline Access jwt_or_oauth(std::vector<Scope> any_of) {
  return {Access::Kind::session_or_oauth, std::move(any_of), Access::FirstParty::console};
}
// The internal secret, or the console's cookie of an admin (authenticate.h).
inline Access internal() { return {Access::Kind::internal, {}, Access::FirstParty::console}; }
// The internal secret only.
inline Access internal_secret() { return {Access::Kind::internal}; }

// The form of errors (specification, section "Errors"). `simple`: the simple form for all errors,
// with `details` for validation_failed. `nested_but_access`: the nested form, but the simple form
// for refusals of who calls (401 and 403). `oauth_and_message`: for OAuth operations below
// /api/auth, whose clients read `message`.
enum class Shape { nested, oauth, oauth_and_message, simple, nested_but_access };
inline bool is_oauth(Shape shape) {
  return shape == Shape::oauth || shape == Shape::oauth_and_message;
}

enum class Body { none, only_json, optional_json, json_or_form };
// The web origins whose pages may read the answers in browsers (gate/cors.h).
enum class Cors { none, origins_of_apps, any_origin };
enum class Availability { always, development_only };
// Whether the header Idempotency-Key has an effect on the route (idempotency.h).
enum class Idempotency { ignored, kept };
// How a body is checked: by the gate with its schema, or by the handler, because the specification
// demands other codes than validation_failed. In the second case the schema is only published in
// openapi.json.
enum class Check { by_schema, by_handler };

struct Param {  // a parameter of the query
  std::string_view name;
  std::string_view type;  // string or integer
  std::string_view description;
  bool required = false;
  std::string_view example = {};
  // Further keywords of its schema for the document, as JSON. The handler checks them.
  std::string_view limits = {};
  Code if_missing = Code::validation_failed;  // the error if it is required and missing
};

struct Route;

// A request that has passed the gate.
struct Call {
  const Request& http;
  const Route* route;  // its row in the table
  std::string request_id = {};
  // The values of the path's {placeholders}.
  std::map<std::string, std::string, std::less<>> path = {};
  json body = {};
  // Sentences about fields of the body that were ignored; the gate adds them to the answer.
  std::vector<std::string> warnings = {};
  std::string address = {};  // the client's address, as far as trusted proxies report it
  // Set if the route accepts a session JWT. With jwt_or_…, it is the user whom the other token
  // stands for. In the console it is set on all routes that need a login.
  std::optional<accounts::User> user = {};
  // The id of the session of the JWT or of the console's cookie, if there was one.
  std::string session_id = {};
  // Of the OAuth token, if one was presented; in the console on routes that accept such a token.
  std::optional<oauth::Caller> caller = {};
  // The session of an app's session token, if one was presented.
  std::optional<play::Session> play = {};
  // Who acts as an admin: the header X-Admin-Actor, or "internal"; "user:" and an id in the
  // console.
  std::string admin = {};

  // Returns the value of the path's placeholder `name`. Throws std::logic_error if the route has
  // none.
  const std::string& id(std::string_view name = "id") const;
  // Returns the value of a query parameter, composed (visible_text.h). An id is in lower case.
  std::optional<std::string> query(std::string_view name) const;
  // The page of a list that is asked for, by its number or by a cursor. Throws validation_failed,
  // also for a number so high that too many rows would be skipped.
  PageRequest page() const;
};

struct Reply {
  int status = 200;
  json body = json::object();
  // Takes the place of `body`: JSON that was printed earlier, for large answers that don't change.
  std::string text = {};
  // Takes the place of both: an answer that goes on after the handler has returned. It has this
  // content type, or if that is empty, the one in the route's answer.
  Stream stream = {};
  std::string content_type = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, the transaction is committed although the answer is a refusal, such as for a replayed
  // token that causes a revocation. The fields of `body` are added to those of the refusal.
  std::optional<Error> refusal = {};
};

// Returns a response with a message that says what was done (the schema `Message`).
inline Reply message_reply(std::string text) { return {.body = {{"message", std::move(text)}}}; }

using Read = Reply (*)(db::Tx&, const Call&, const Services&);  // runs on a snapshot
// The gate opens the transaction, and sends the answer once it is on disk.
using Write = Reply (*)(db::Tx&, const Call&, const Services&);
// Opens its own transactions, because something slow (argon2) happens between them.
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
  std::string_view schema;  // the name of a schema: resources/*/schema.yaml
  std::string_view content_type = "application/json";
  std::string_view by_accept = {};   // another content type, used if the Accept header names it
  std::string_view or_nothing = {};  // describes when the answer is 204 instead
  // Describes when the answer is 304 instead, which needs an ETag on the others (RFC 9110, section
  // 13.1.2).
  std::string_view or_unchanged = {};
  // Describes when the answer is 303 instead, whose header Location says where to go on.
  std::string_view or_elsewhere = {};
  // A header of this operation alone: one of the document's components.
  std::string_view header = {};
};

struct Route {
  std::string_view method;
  std::string_view path;  // with {placeholders}
  std::string_view name;  // the operationId
  std::string_view tag;
  std::string_view summary;
  Access access = {};
  Rate rate = {};
  // What it stores, and thereby the budget that it counts against. Rows of operations that may
  // write have to say it; the others can leave it out.
  Stores stores = Stores::unsaid;
  Shape shape = Shape::nested;
  Body body_kind = Body::none;
  std::string_view body = {};  // the schema of the request's body
  Check check = Check::by_schema;
  std::vector<Param> query = {};
  Answer answer = {};
  std::vector<Code> errors = {};  // in addition to those that follow from access, rate and body
  // Codes of answers with the status 400 that aren't berth's own errors (device_authorization).
  std::vector<std::string_view> other_codes = {};
  Idempotency idempotency = Idempotency::ignored;
  Availability availability = Availability::always;
  Cors cors = Cors::none;  // set for all rows of the table by their paths
  // `heavy` if the handler may read very many rows, so that other requests never wait for it. Pages
  // with high numbers are heavy in any case.
  db::Readers readers = db::Readers::ordinary;
  // Whether a ReadHandler runs in Database::read_committed(): for operations that are called all
  // the time and look up a few rows.
  bool read_committed = false;
  // Whether a WriteHandler runs in Database::write_with_row_locks(): for operations that often
  // change the same row at the same time, and whose statements don't rely on SERIALIZABLE.
  bool with_row_locks = false;
  AnyHandler run;
};

// The table of routes, which api/resources/routes.cpp composes.
const std::vector<Route>& routes();

}  // namespace berth::api
