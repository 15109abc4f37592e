#pragma once

#include <string>
#include <string_view>

#include "api/gate/route.h"
#include "controller/db/database.h"

// Cross-origin requests of browsers (the Fetch standard's CORS protocol). An app registers the web
// origins of its pages; those may read what the API answers to the app's own tokens. Credentials
// that a browser adds by itself are never allowed: no answer has Access-Control-Allow-Credentials.
namespace berth::api {

// By the path of a row of the table.
Cors cors_of(std::string_view path);

// Whom the gate knows behind a request.
struct CorsCaller {
  std::string app_id = {};     // of the token
  std::string client_id = {};  // that the request names, where it has no token
  bool is_other = false;       // a user without an app, or an admin
};

// Adds the fields of an answer to `fields`. The origin is allowed where it is one of the caller's
// app; while nobody has shown who they are, where it is one of any app, so that its page can read
// why it was refused.
void add_cors(db::Database& db, const Request& request, Cors cors, const CorsCaller& caller,
              Fields& fields);

// The answer to a preflight request for a route: `allow` are the methods of its path. Origins of
// all apps get leave to ask; the request itself is held against its own app.
Reply preflight(db::Database& db, const Request& request, Cors cors, const std::string& allow);
// Whether it is a preflight request, which names an origin and the method that it is for.
bool is_preflight(const Request& request);

}  // namespace berth::api
