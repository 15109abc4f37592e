#pragma once

#include <string>
#include <string_view>

#include "api/gate/call.h"
#include "controller/db/database.h"

// Cross-origin requests of browsers (the Fetch standard's CORS protocol). An app registers the web
// origins of its pages; those may read what the API answers to the app's own tokens. Credentials
// that a browser adds by itself are never allowed: no answer has Access-Control-Allow-Credentials.
namespace berth::api {

// Who sent a request, as far as the gate knows.
struct CorsCaller {
  std::string app_id = {};     // the app of the token
  std::string client_id = {};  // if there is no token: the client that the request names
  bool is_other = false;       // a user who calls without an app
};

// Adds the CORS fields of an answer to `fields`. The origin is allowed if it belongs to the
// caller's app. If nobody has shown who they are, it is allowed if it belongs to any app, so that a
// page can read why it was refused.
void add_cors(db::Database& db, const Request& request, Cors cors, const CorsCaller& caller,
              Fields& fields);

// Answers a preflight request for a route whose path has these methods. The origins of all apps are
// allowed, because a preflight request has no token; the request that follows is checked by its own
// app.
Reply preflight(db::Database& db, const Request& request, Cors cors, const std::string& methods);
// Whether `request` is a preflight request: OPTIONS with an Origin and with the method of the
// request that is to follow (Access-Control-Request-Method).
bool is_preflight(const Request& request);

}  // namespace berth::api
