#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/gate/route.h"
#include "api/gate/services.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/transport/http.h"

// What a handler gets and what it returns.
namespace berth::api {

using nlohmann::json;

// The parameters of the route's query: those of paging (page, page_size and cursor), if it returns
// a list in pages, and its own.
std::array<std::span<const Param>, 2> params_of(const Route& route);

// Returns the names of the placeholders in a route's path, in its order.
std::vector<std::string_view> placeholders_in(std::string_view path);

// The values of a path's {placeholders}, by their names.
using PathValues = std::map<std::string, std::string, std::less<>>;

// A request that has passed the gate.
struct Call {
  const Request& http;
  const Route* route;  // its row in the table
  std::string request_id = {};
  PathValues path = {};
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
  // Who acts as an admin: the header X-Admin-Actor, or "internal"; the name of an internal secret
  // that has one, with that header behind it; "user:" and an id for a person.
  std::string admin = {};
  // The id of an admin's personal token, or of an internal secret that an admin made.
  std::string admin_token_id = {};
  // The role of who acts as an admin; only their secret or account has one.
  std::optional<accounts::AdminRole> admin_role = {};
  // Set if the request has the route's proving_grant: has it counted for the app that it has proven
  // to be of, and no longer for its network, which may be that of many apps. Throws rate_limited if
  // the app has sent too many, or its owner's apps have stored too much. To be called once, after
  // the proof and before anything is written, with no transaction open.
  std::function<void(const std::string& app_id, const std::string& owner_id)> count_for_app = {};

  // Returns the value of the path's placeholder `name`. Throws std::logic_error if the route has
  // none.
  const std::string& id(std::string_view name = "id") const;
  // Returns the value of a query parameter, composed (visible_text.h). An id is in lower case.
  std::optional<std::string> query(std::string_view name) const;
  // The same for a parameter of this kind. Throws std::logic_error if the row says another one.
  std::optional<std::string> query(std::string_view name, Kind kind) const;
  // The same for an integer. Throws validation_failed if it is out of the range in its row.
  std::optional<std::int64_t> number(std::string_view name) const;
  // Whether the tenth page of a list, or a later one, is asked for by its number. To reach it, so
  // many entries are skipped that other requests shouldn't wait for it.
  bool asks_for_deep_page() const;
  // The page of a list that is asked for, by its number or by a cursor. Throws validation_failed,
  // also for a number so high that too many rows would be skipped.
  PageRequest page() const;
};

struct Reply {
  int status = 200;
  json body = json::object();
  // Takes the place of `body`: JSON that was printed earlier, for large answers that don't change,
  // or something else, with its content type.
  std::string text = {};
  // Takes the place of both: an answer that goes on after the handler has returned. It has this
  // content type, or if that is empty, the one in the route's answer.
  Stream stream = {};
  // Takes the place of all three, with the status 101: the connection becomes a WebSocket.
  Takeover takeover = {};
  std::string content_type = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // If set, the transaction is committed although the answer is a refusal, such as for a replayed
  // token that causes a revocation. The fields of `body` are added to those of the refusal.
  std::optional<Error> refusal = {};
};

// Returns a response with a message that says what was done (the schema `Message`).
inline Reply message_reply(std::string text) { return {.body = {{"message", std::move(text)}}}; }

}  // namespace berth::api
