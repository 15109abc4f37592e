#include "api/gate/cors.h"

#include "controller/base/log.h"
#include "controller/domain/apps/apps.h"

namespace berth::api {
namespace {

constexpr const char* allowed_headers =
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Request-Id";
constexpr const char* exposed_headers =
    "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, "
    "WWW-Authenticate, X-Request-Id";
// Browsers keep the answer to a preflight request for this long.
constexpr const char* preflight_seconds = "600";

// Returns an empty text if the request has no Origin field or several.
std::string_view origin_of(const Request& request) {
  return request.headers.count("Origin") == 1 ? request.headers.get("Origin") : "";
}

bool is_allowed(db::Tx& tx, std::string_view origin, const CorsCaller& caller) {
  if (!caller.app_id.empty()) return apps::allows_origin(tx, caller.app_id, origin);
  if (caller.client_id.empty()) return apps::is_origin_of_any(tx, origin);
  const auto app = apps::find_by_client_id(tx, caller.client_id);
  return app && apps::allows_origin(tx, app->id, origin);
}

void allow(std::string_view origin, Fields& fields) {
  fields.emplace_back("Access-Control-Allow-Origin", origin);
}

}  // namespace

void add_cors(db::Database& db, const Request& request, Cors cors, const CorsCaller& caller,
              Fields& fields) {
  if (cors == Cors::none) return;
  if (cors == Cors::any_origin) {
    allow("*", fields);
    fields.emplace_back("Access-Control-Expose-Headers", exposed_headers);
    return;
  }
  // This answer depends on the origin too, even if it goes to a request without one (RFC 9110,
  // section 12.5.5).
  fields.emplace_back("Vary", "Origin");
  const std::string_view origin = origin_of(request);
  if (origin.empty() || caller.is_other) return;
  if (!db.read_committed([&](db::Tx& tx) { return is_allowed(tx, origin, caller); })) return;
  allow(origin, fields);
  fields.emplace_back("Access-Control-Expose-Headers", exposed_headers);
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && !origin_of(request).empty() &&
         request.headers.count("Access-Control-Request-Method") == 1;
}

Reply preflight(db::Database& db, const Request& request, Cors cors, const std::string& methods) {
  Reply reply = {.status = 204, .body = nullptr, .headers = {{"Allow", methods}}};
  if (cors == Cors::none) return reply;
  const std::string_view origin = origin_of(request);
  reply.headers.emplace_back("Vary", "Origin");
  if (cors == Cors::any_origin)
    allow("*", reply.headers);
  else if (db.read_committed([&](db::Tx& tx) { return apps::is_origin_of_any(tx, origin); }))
    allow(origin, reply.headers);
  else
    return reply;
  reply.headers.emplace_back("Access-Control-Allow-Methods", methods);
  reply.headers.emplace_back("Access-Control-Allow-Headers", allowed_headers);
  reply.headers.emplace_back("Access-Control-Max-Age", preflight_seconds);
  return reply;
}

}  // namespace berth::api
