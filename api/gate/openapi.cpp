#include "api/gate/openapi.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/gate/errors.h"
#include "api/gate/schema.h"
#include "api/gate/version.h"
#include "controller/base/lower_case.h"
#include "controller/base/version.h"

namespace berth::api {
namespace {

std::string reference(std::string_view schema) {
  return "#/components/schemas/" + std::string(schema);
}

bool is_required(const json& schema, const std::string& field) {
  const json required = schema.value("required", json::array());
  return std::find(required.begin(), required.end(), field) != required.end();
}

// An example of a schema, composed of the examples of its fields. Optional fields whose example
// would be null are left out.
json example_of(const json& schema) {
  if (schema.contains("example")) return schema["example"];
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>();
    return example_of(all_schemas().at(name.substr(name.rfind('/') + 1)));
  }
  json example = json::object();
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items())
    if (json value = example_of(field); !value.is_null() || is_required(schema, name))
      example[name] = std::move(value);
  return example;
}

json content(std::string_view type, std::string_view schema) {
  return {{std::string(type),
           {{"schema", {{"$ref", reference(schema)}}},
            {"example", example_of(all_schemas().at(std::string(schema)))}}}};
}

const char* schema_of(ErrorBody body) {
  switch (body) {
    case ErrorBody::simple:
      return "SimpleError";
    case ErrorBody::oauth:
    case ErrorBody::oauth_and_message:
      return "OAuthError";
    case ErrorBody::framework:
      return "FrameworkError";
    case ErrorBody::nested:
      break;
  }
  return "NestedError";
}

// Every error code that the operation can answer with: those in its row, and those that follow from
// what the row requires.
std::set<Code> codes_of(const Route& route) {
  std::set<Code> codes(route.errors.begin(), route.errors.end());
  const bool oauth = is_oauth(route.shape);
  switch (route.access.kind) {
    case Access::Kind::open:
      break;
    case Access::Kind::oauth:
    case Access::Kind::session_or_oauth:
      if (!route.access.any_of.empty()) codes.insert(Code::insufficient_scope);
      [[fallthrough]];
    case Access::Kind::session:
    case Access::Kind::play_session:
    case Access::Kind::session_or_play_session:
      // An app's session token that may only read.
      if (route.access.kind == Access::Kind::session_or_play_session && route.method != "GET")
        codes.insert(Code::insufficient_scope);
      codes.insert({Code::invalid_token, Code::token_expired, Code::token_revoked,
                    Code::wrong_token_type, Code::account_suspended});
      break;
    case Access::Kind::internal:
      codes.insert(Code::forbidden);
      break;
  }
  if (route.rate.limit > 0) codes.insert(Code::rate_limited);
  if (route.body_kind != Body::none) {
    codes.insert(Code::body_too_large);
    if (oauth)
      codes.insert(Code::invalid_request);
    else
      codes.insert({Code::invalid_json, Code::validation_failed});
  }
  if (!route.query.empty() && !oauth) codes.insert(Code::validation_failed);
  if (route.idempotency == Idempotency::kept)
    codes.insert({Code::idempotency_conflict, Code::malformed_request});
  codes.insert({Code::headers_too_large, Code::internal_error, Code::unavailable});
  return codes;
}

json rate_headers() {
  const auto integer = [](const char* text) {
    return json{{"description", text}, {"schema", {{"type", "integer"}}}};
  };
  return {{"RateLimit-Limit", integer("How many requests are allowed in a time window.")},
          {"RateLimit-Remaining", integer("How many requests are left in the window.")},
          {"RateLimit-Reset", integer("Seconds until the oldest request leaves the window.")}};
}

bool is_list(std::string_view schema) {
  return all_schemas()
      .at(std::string(schema))
      .contains(json::json_pointer("/properties/next_page"));
}

json responses(const Route& route) {
  json result = json::object();
  json& ok = result[std::to_string(route.answer.status)];
  ok = {{"description", "Success."},
        {"content", content(route.answer.content_type, route.answer.schema)}};
  if (!route.answer.by_accept.empty())
    ok["content"].update(content(route.answer.by_accept, route.answer.schema));
  if (route.rate.limit > 0) ok["headers"] = rate_headers();
  if (is_list(route.answer.schema))
    ok["headers"]["Link"] = {{"description", "Where the list goes on: rel=next (RFC 8288)."},
                             {"schema", {{"type", "string"}}}};
  if (!route.answer.or_nothing.empty()) result["204"] = {{"description", route.answer.or_nothing}};
  std::map<int, std::set<std::string_view>> by_status;
  for (const Code code : codes_of(route)) by_status[status(code)].insert(name(code));
  for (const auto& [http_status, names] : by_status) {
    std::string list;
    for (const std::string_view code : names) list.append(list.empty() ? "" : ", ").append(code);
    const char* schema = schema_of(body_of(route.shape, http_status));
    json& response = result[std::to_string(http_status)];
    response = {{"description", list}, {"content", content("application/json", schema)}};
    if (http_status == 429) {
      response["headers"] = rate_headers();
      response["headers"]["Retry-After"] = {{"description", "How many seconds to wait."},
                                            {"schema", {{"type", "integer"}}}};
    }
  }
  return result;
}

json parameters(const Route& route) {
  json result = json::array();
  for (size_t open = route.path.find('{'); open != std::string_view::npos;
       open = route.path.find('{', open + 1)) {
    const size_t close = route.path.find('}', open);
    result.push_back({{"name", route.path.substr(open + 1, close - open - 1)},
                      {"in", "path"},
                      {"required", true},
                      {"schema", {{"type", "string"}}}});
  }
  for (const Param& param : route.query) {
    json entry = {{"name", param.name},
                  {"in", "query"},
                  {"required", param.required},
                  {"description", param.description},
                  {"schema", {{"type", param.type}}}};
    if (!param.example.empty()) entry["example"] = param.example;
    result.push_back(std::move(entry));
  }
  if (route.idempotency == Idempotency::kept)
    result.push_back({{"name", "Idempotency-Key"},
                      {"in", "header"},
                      {"required", false},
                      {"description",
                       "If a request is repeated with the same key and body within 24 hours, the "
                       "first answer is returned."},
                      {"schema", {{"type", "string"}, {"maxLength", 255}}}});
  return result;
}

json security(const Access& access) {
  json choices = json::array();
  switch (access.kind) {
    case Access::Kind::open:
      return json::array();
    case Access::Kind::session:
      return json::array({{{"session", json::array()}}});
    case Access::Kind::play_session:
      return json::array({{{"play_session", json::array()}}});
    case Access::Kind::internal:
      return json::array({{{"internal", json::array()}}});
    case Access::Kind::session_or_play_session:
      return json::array({{{"session", json::array()}}, {{"play_session", json::array()}}});
    case Access::Kind::session_or_oauth:
      choices.push_back({{"session", json::array()}});
      break;
    case Access::Kind::oauth:
      break;
  }
  for (const Scope scope : access.any_of)
    choices.push_back({{"oauth", json::array({info(scope).name})}});
  if (access.any_of.empty()) choices.push_back({{"oauth", json::array()}});
  return choices;
}

json operation(const Route& route) {
  json result = {{"operationId", route.name},
                 {"tags", json::array({route.tag})},
                 {"summary", route.summary},
                 {"security", security(route.access)},
                 {"responses", responses(route)}};
  if (json list = parameters(route); !list.empty()) result["parameters"] = std::move(list);
  if (route.body_kind != Body::none) {
    json types = content("application/json", route.body);
    if (route.body_kind == Body::json_or_form)
      types.update(content("application/x-www-form-urlencoded", route.body));
    result["requestBody"] = {{"required", route.body_kind != Body::optional_json},
                             {"content", std::move(types)}};
  }
  if (route.rate.limit > 0)
    result["x-rate-limit"] = {{"limit", route.rate.limit},
                              {"window_seconds", route.rate.window.count()}};
  return result;
}

json security_schemes(const std::string& base_url) {
  json scopes = json::object();
  for (const ScopeInfo& scope : all_scopes()) scopes[std::string(scope.name)] = scope.grants;
  return {{"session",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"bearerFormat", "JWT"},
            {"description", "The session JWT from POST /api/auth/login."}}},
          {"oauth",
           {{"type", "oauth2"},
            {"description", "Access tokens of the form at_live_…"},
            {"flows",
             {{"authorizationCode",
               {{"authorizationUrl", base_url + "/api/oauth/authorize"},
                {"tokenUrl", base_url + "/api/oauth/token"},
                {"refreshUrl", base_url + "/api/oauth/token"},
                {"scopes", scopes}}},
              {"clientCredentials",
               {{"tokenUrl", base_url + "/api/oauth/token"}, {"scopes", scopes}}}}}}},
          {"play_session",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description", "Apps' session tokens of the form st_live_…"}}},
          {"internal",
           {{"type", "apiKey"},
            {"in", "header"},
            {"name", "x-internal-secret"},
            {"description", "For admins of the platform."}}}};
}

}  // namespace

json openapi(const std::vector<Route>& table, Environment environment,
             const std::string& base_url) {
  json paths = json::object();
  for (const Route& route : table) {
    if (route.availability == Availability::development_only &&
        environment != Environment::development)
      continue;
    paths[std::string(route.path)][lower_case(route.method)] = operation(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "berth"},
            {"version", interface_version},
            {"x-berthd-version", version},
            {"x-berthd-commit", build_commit()},
            {"description", "Accounts, OAuth 2.0, points and container hosting."},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"servers", json::array({{{"url", base_url}}})},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", all_schemas()}, {"securitySchemes", security_schemes(base_url)}}}};
}

}  // namespace berth::api
