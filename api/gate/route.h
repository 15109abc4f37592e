#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "api/gate/rate.h"
#include "api/gate/success_event.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/admin_roles.h"
#include "controller/domain/apps/roles.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/kernel/write_budgets.h"

// A row of the table of routes: everything that is to be said of an operation. The gate serves the
// route by it, openapi.json and docs/reference/operations.md are made of it. Rows are constants, at
// the foot of their resource's file.
namespace berth::api {

using write_budgets::Stores;

// Up to `most` values. Unlike a vector, it can be a part of a constant.
template <typename T, std::size_t most>
class Few {
 public:
  constexpr Few() = default;
  // Does not compile, in a constant, if there are more values than `most`.
  constexpr Few(std::initializer_list<T> values) {
    for (const T& value : values) items_.at(size_++) = value;
  }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, most> items_ = {};
  std::size_t size_ = 0;
};

// The web origins whose pages may read the answers in browsers (gate/cors.h).
enum class Cors { none, origins_of_apps, any_origin };

// Who may call, with which credentials, and from whose pages.
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
  Few<Scope, 3> any_of = {};
  // Which of berth's own programs may call in the name of the person who is logged in: the console
  // (console.h), and the built-in client with its access tokens.
  enum class FirstParty { none, console, console_and_client } first_party = FirstParty::none;
  // For which of the person's apps such a program calls if the kind is `oauth`. `one`: for the app
  // that it names by Berth-App; `one_or_all`: for all of them, unless it names one; `none`: for the
  // person, and for no app.
  enum class ForApp { one, one_or_all, none } for_app = ForApp::one;
  // Whether a caller who may only use some of the app's deployments (oauth::Caller::deployments)
  // may call although the path names none: the handler keeps to those.
  bool keeps_to_deployments = false;
  Cors cors = Cors::none;
  // The least role in the app that a person needs who calls for themselves: in the console, by a
  // session token or by berth's own programs. The gate checks it for the app in Berth-App and for
  // the one in the path (OwnAppId, MyAppId); for one that the body or the query names, the handler
  // does. An app's own token needs no role. Without a role, only owners may call for an app.
  std::optional<apps::Role> role = {};
  // Of an operation below /api/internal/: the roles of admins that may call it.
  Few<accounts::AdminRole, 3> admin_roles = {};
  // Whether it takes a person who has proven their second factor in the console, or a secret of the
  // configuration: no secret that an admin made, and no personal token. For operations that give
  // others access, which a stolen token could otherwise keep, and for what takes two persons.
  bool in_person = false;
};
constexpr Access open_to_all() { return {}; }
// A session JWT, or the console's cookie.
constexpr Access session() { return {Access::Kind::session, {}, Access::FirstParty::console}; }
// A session JWT only: for operations that the console must not perform by its cookie.
constexpr Access session_jwt() { return {Access::Kind::session}; }
// What session() accepts, or an access token of the built-in client, which needs one of the scopes.
constexpr Access person(Few<Scope, 3> any_of = {}) {
  return {Access::Kind::session, any_of, Access::FirstParty::console_and_client};
}
constexpr Access oauth_token(Few<Scope, 3> any_of, Access::ForApp for_app = Access::ForApp::one) {
  return {Access::Kind::oauth, any_of, Access::FirstParty::console_and_client, for_app};
}
// The session token (st_live_) that an app received for a user.
constexpr Access play_session() { return {Access::Kind::play_session}; }
// A session JWT, or the session token (st_live_) of a play session that hasn't ended: the user
// calls directly or through an app. Call::user is set in both cases, Call::play with a session
// token.
constexpr Access jwt_or_play_session() {
  return {Access::Kind::session_or_play_session, {}, Access::FirstParty::console};
}
// A session JWT, which needs no scope, or an OAuth token with one of the scopes. Call::user is set
// in both cases, Call::caller with an OAuth token.
constexpr Access jwt_or_oauth(Few<Scope, 3> any_of) {
  return {Access::Kind::session_or_oauth, any_of, Access::FirstParty::console};
}
// An internal secret, or an admin by the console's cookie or a personal token (admin_caller.h),
// with one of the roles.
constexpr Access internal(Few<accounts::AdminRole, 3> roles = {accounts::AdminRole::admin}) {
  return {.kind = Access::Kind::internal,
          .first_party = Access::FirstParty::console,
          .admin_roles = roles};
}
// A secret of the configuration only.
constexpr Access internal_secret() {
  return {.kind = Access::Kind::internal, .admin_roles = {accounts::AdminRole::admin}};
}
// The same access, only in person.
constexpr Access in_person(Access access) {
  access.in_person = true;
  return access;
}
// The same access, also for callers who may only use some of an app's deployments.
constexpr Access keeping_to_deployments(Access access) {
  access.keeps_to_deployments = true;
  return access;
}
// The same access for members of the app with at least this role (Access::role).
constexpr Access to_members(apps::Role least, Access access) {
  access.role = least;
  return access;
}
constexpr Access to_viewers(Access access) { return to_members(apps::Role::viewer, access); }
constexpr Access to_billing(Access access) { return to_members(apps::Role::billing, access); }
constexpr Access to_developers(Access access) { return to_members(apps::Role::developer, access); }
constexpr Access to_app_admins(Access access) { return to_members(apps::Role::admin, access); }
constexpr Access to_owners(Access access) { return to_members(apps::Role::owner, access); }
// The same access, also for the pages of apps, on the origins that the apps have registered.
constexpr Access with_pages_of_apps(Access access) {
  access.cors = Cors::origins_of_apps;
  return access;
}
// The same access, also for any page.
constexpr Access with_any_page(Access access) {
  access.cors = Cors::any_origin;
  return access;
}

// The form of errors (specification, section "Errors"). `simple`: the simple form for all errors,
// with `details` for validation_failed. `nested_but_access`: the nested form, but the simple form
// for refusals of who calls (401 and 403). `oauth_and_message`: for OAuth operations below
// /api/auth, whose clients read `message`.
enum class Shape { nested, oauth, oauth_and_message, simple, nested_but_access };
constexpr bool is_oauth(Shape shape) {
  return shape == Shape::oauth || shape == Shape::oauth_and_message;
}

// Who may call, how often, and how others are refused.
struct Guards {
  Access access = {};
  Rate rate = {};
  Shape shape = Shape::nested;
};

// What a parameter of the path or the query is. The gate gives ids lower-case letters, and leaves
// other texts as they are. `words` may occur several times, and the handler checks them.
enum class Kind { text, uuid, integer, time, words };

struct Param {  // a parameter of the query
  std::string_view name;
  std::string_view description;
  std::string_view example = {};
  Kind kind = Kind::text;
  // The range of an integer (Call::number()). The document has it as keywords, unless the
  // description says it.
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool range_in_words = false;
  bool required = false;
  Code if_missing = Code::validation_failed;  // the error if it is required and missing
  // Further keywords of its schema for the document, as JSON. The handler checks them.
  std::string_view limits = {};
};

// A placeholder of a path. In the document, it is a component.
struct Placeholder {
  std::string_view component;
  std::string_view description;
  std::string_view example;
  Kind kind = Kind::uuid;
};

struct Body {
  std::string_view schema;  // the name of a schema: resources/*.yaml
  enum class Form { only_json, optional_json, json_or_form } form = Form::only_json;
  // How it is checked: by the gate with its schema, or by the handler, because the specification
  // demands other codes than validation_failed. In the second case the schema is only published in
  // openapi.json.
  enum class Check { by_schema, by_handler } check = Check::by_schema;
};

struct Answer {
  int status = 200;
  std::string_view schema;  // the name of a schema: resources/*.yaml
  std::string_view content_type = "application/json";
  // Another content type: used if the Accept header names it, or if the thing is of that type.
  std::string_view by_accept = {};
  // Further content types that a parameter of the query asks for; such an answer is a text.
  Few<std::string_view, 2> or_texts = {};
  std::string_view or_nothing = {};  // describes when the answer is 204 instead
  // Describes when the answer is 304 instead, which needs an ETag on the others (RFC 9110, section
  // 13.1.2).
  std::string_view or_unchanged = {};
  // Describes when the answer is 303 instead, whose header Location says where to go on.
  std::string_view or_elsewhere = {};
  // Describes the WebSocket that the operation is: its success has the status 101 and no schema.
  std::string_view upgrade = {};
  // A header of this operation alone: one of the document's components.
  std::string_view header = {};
};

enum class Availability { always, development_only };
// Whether the header Idempotency-Key has an effect on the route (idempotency.h).
enum class Idempotency { ignored, kept };

// What else does the same as the operation: a command of the client, and a page; or, if there is
// neither, a sentence that says why.
struct ServedBy {
  std::string_view command = {};
  std::string_view page = {};
  std::string_view neither = {};
};

struct Call;
struct Reply;
struct Services;
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

using Errors = Few<Code, 13>;

struct Route {
  std::string_view request;  // method and path, with {placeholders}: "GET /api/apps/{id}"
  std::string_view name;     // the operationId
  std::string_view tag;      // a group of operations: gate/document/tags.yaml
  std::string_view summary;
  // What the operation does, what it costs and what happens afterwards. Scopes, limits and errors
  // follow from the other fields.
  std::string_view text;
  Guards guards = {};
  // What it stores, and thereby the budget that it counts against. Rows of operations that may
  // write have to say it; the others can leave it out.
  Stores stores = Stores::unsaid;
  Few<const Placeholder*, 3> in_path = {};  // the path's placeholders, in its order
  // Whether it returns a list in pages, which takes the parameters of paging (call.h) before those
  // in `query`.
  bool paged = false;
  std::span<const Param> query = {};
  Body body = {};
  // The name of a schema if the body is a tar archive instead, which is received into a file
  // (Request::file). The gate looks at the token before the body is read.
  std::string_view archive = {};
  Answer answer = {};
  Errors errors = {};  // in addition to those that follow from guards and body
  // Codes of answers with the status 400 that aren't berth's own errors (device_authorization).
  std::span<const std::string_view> other_codes = {};
  Idempotency idempotency = Idempotency::ignored;
  Availability availability = Availability::always;
  // `heavy` if the handler may read very many rows, so that other requests never wait for it. Pages
  // with high numbers are heavy in any case.
  db::Readers readers = db::Readers::ordinary;
  // Whether a ReadHandler runs in Database::read_committed(): for operations that are called all
  // the time and look up a few rows.
  bool read_committed = false;
  // Whether a WriteHandler runs in Database::write_with_row_locks(): for operations that often
  // change the same row at the same time, and whose statements don't rely on SERIALIZABLE.
  bool with_row_locks = false;
  // The grant_type of requests that prove by a token of their own which app they are of, without a
  // login. Their handler calls Call::count_for_app before it writes.
  std::string_view proving_grant = {};
  // The security log's entry for a success. Each change by an admin has one in any case.
  SuccessEvent event = {};
  // Why a success leaves no entry in the audit log although it may change something; empty if it
  // leaves one (gate/audit_entry.h).
  std::string_view unaudited = {};
  ServedBy served_by = {};
  AnyHandler run;

  constexpr std::string_view method() const { return request.substr(0, request.find(' ')); }
  constexpr std::string_view path() const { return request.substr(request.find(' ') + 1); }
  constexpr bool has_body() const { return !body.schema.empty(); }
};

// The table of routes: the rows of all resources, in the order of the resources' names.
const std::vector<Route>& routes();

}  // namespace berth::api
