#include "api/gate/openapi.h"

#include <map>
#include <set>
#include <stdexcept>

#include "api/gate/call.h"
#include "api/gate/document_texts.h"
#include "api/gate/openapi_errors.h"
#include "api/gate/schema.h"
#include "api/gate/version.h"
#include "controller/base/ascii.h"
#include "controller/base/version.h"

namespace berth::api {
namespace {

// What is true of all operations. It is shown at the top of the document.
constexpr const char* introduction =
    R"(Accounts, OAuth 2.0, points and container hosting.

**Tokens.** The security requirements of an operation say what it needs: a session JWT (users, from
`login`), an access token `at_live_…` with a scope (apps, from `token`), an app's session token
`st_live_…` (a user in an app), or the internal secret (administrators). Without any, it is open to all.
**Costs.** An operation costs points only where its description says so.
**Errors.** Refusals have a status, a code for programs and a message for people. The default response
stands for those that every operation may give, because the server itself refuses (413, 431, 500, 503).
**Roles.** `x-role` is the least role in the app that a person needs who calls for themselves: `viewer`,
`billing`, `developer`, `admin` or `owner`, each including those before it. An app's own token needs none.
**Limits.** `x-rate-limit` counts by grant, user or address. Every answer of a limited operation has
`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`; a 429 has `Retry-After`.
**Lists** have pages; `Link` with rel=next (RFC 8288) and `next_page` name the next one.
**Repetition.** With an `Idempotency-Key`, a request that is sent again gets the first answer; the same
JSON value is the same body, however it is written.
**Unknown fields** of a body are ignored, and the answer's `warnings` name them, but for the OAuth endpoints.
**Formats.** Ids are UUIDs, times ISO 8601 in UTC, points integers. Every answer has `X-Request-Id`.)";

// The media type of an archive in the document. berthd looks at the bytes and not at the type; that
// of a tar isn't one that generators of clients know.
constexpr std::string_view archive_type = "application/octet-stream";

json content(std::string_view type, std::string_view schema) {
  return {{std::string(type), {{"schema", reference("schemas", schema)}}}};
}

// Whether this is the schema of a list, whose answers have a Link field with the URL of the next
// page or of the entries before the oldest one.
bool is_list(std::string_view name) {
  const json& schema = all_schemas().at(std::string(name));
  return schema.contains(json::json_pointer("/properties/next_page")) ||
         schema.contains(json::json_pointer("/properties/has_more")) ||
         (schema.contains("allOf") && schema["allOf"][0] == reference("schemas", "Paging"));
}

json responses(const Route& route, json& components) {
  json result = error_responses(route, components["responses"]);
  const Answer& answer = route.answer;
  json& ok = result[std::to_string(answer.status)];
  if (!answer.upgrade.empty()) {
    ok = {{"description", answer.upgrade}};
    return result;
  }
  ok = {{"description", "Success."}, {"content", content(answer.content_type, answer.schema)}};
  if (!answer.by_accept.empty()) ok["content"].update(content(answer.by_accept, answer.schema));
  for (const std::string_view type : answer.or_texts)
    ok["content"][std::string(type)] = {{"schema", {{"type", "string"}}}};
  if (is_list(answer.schema)) ok["headers"]["Link"] = reference("headers", "Link");
  if (!answer.or_nothing.empty()) result["204"] = {{"description", answer.or_nothing}};
  if (!answer.header.empty())
    ok["headers"][std::string(answer.header)] = reference("headers", answer.header);
  if (!answer.or_elsewhere.empty())
    result["303"] = {{"description", answer.or_elsewhere},
                     {"headers", {{"Location", reference("headers", "Location")}}}};
  if (!answer.or_unchanged.empty()) {
    ok["headers"]["ETag"] = reference("headers", "ETag");
    result["304"] = {{"description", answer.or_unchanged}, {"headers", ok["headers"]}};
  }
  return result;
}

json header_parameter(const char* name, size_t most, const char* text, const char* example) {
  return {{"name", name},
          {"in", "header"},
          {"description", text},
          {"schema", {{"type", "string"}, {"maxLength", most}}},
          {"example", example}};
}

// The parameters that don't follow from a route's path or query.
json common_parameters() {
  return {{"IdempotencyKey",
           header_parameter("Idempotency-Key", 255,
                            "If a request is repeated with the same key and body within 24 hours, "
                            "the first answer is returned.",
                            "order-1042")},
          {"RequestId", header_parameter("X-Request-Id", 128,
                                         "The id of the request in berthd's log, if you choose it.",
                                         "3f2a9c41")}};
}

json example_of(Kind kind, std::string_view example) {
  if (kind != Kind::integer && kind != Kind::words) return example;
  return json::parse(example);
}

// Parameters that several operations share are components. This maps their descriptions to their
// names.
using SharedParameters = std::map<json, std::string>;

json query_parameter(const Param& param) {
  json schema = {{"type", param.kind == Kind::integer ? "integer" : "string"}};
  if (param.kind == Kind::words) schema = {{"type", "array"}, {"items", schema}};
  if (param.most > 0 && !param.range_in_words)
    schema.update({{"minimum", param.least}, {"maximum", param.most}});
  if (!param.limits.empty()) schema.update(json::parse(param.limits));
  json result = {{"name", param.name},
                 {"in", "query"},
                 {"description", param.description},
                 {"schema", std::move(schema)}};
  if (param.required) result["required"] = true;
  if (!param.example.empty()) result["example"] = example_of(param.kind, param.example);
  return result;
}

SharedParameters shared_parameters(const std::vector<Route>& table) {
  std::map<json, int> uses;
  for (const Route& route : table)
    for (const auto params : params_of(route))
      for (const Param& param : params) ++uses[query_parameter(param)];
  SharedParameters result;
  std::set<std::string> names;  // also those that path_parameter() gives
  for (const Route& route : table)
    for (const Placeholder* placeholder : route.in_path) names.emplace(placeholder->component);
  for (const auto& [parameter, count] : uses) {
    if (count == 1) continue;
    const std::string name = in_camel_case(parameter["name"].get<std::string>());
    std::string component = name;
    for (int number = 2; !names.insert(component).second; ++number)
      component = name + std::to_string(number);
    result[parameter] = component;
  }
  return result;
}

// Adds the component of the placeholder, which has this name, if it is missing, and returns a
// reference to it.
json path_parameter(std::string_view name, const Placeholder& text, json& components) {
  json schema = {{"type", text.kind == Kind::integer ? "integer" : "string"}};
  if (text.kind == Kind::uuid) schema["format"] = "uuid";
  components[std::string(text.component)] = {{"name", name},
                                             {"in", "path"},
                                             {"required", true},
                                             {"description", text.description},
                                             {"schema", std::move(schema)},
                                             {"example", example_of(text.kind, text.example)}};
  return reference("parameters", text.component);
}

json parameters(const Route& route, const SharedParameters& shared, json& components) {
  json result = json::array();
  const std::vector<std::string_view> names = placeholders_in(route.path());
  for (size_t i = 0; i < names.size(); ++i)
    result.push_back(path_parameter(names[i], *route.in_path[i], components));
  for (const auto params : params_of(route))
    for (const Param& param : params) {
      json parameter = query_parameter(param);
      const auto found = shared.find(parameter);
      result.push_back(found == shared.end() ? std::move(parameter)
                                             : reference("parameters", found->second));
    }
  if (route.idempotency == Idempotency::kept)
    result.push_back(reference("parameters", "IdempotencyKey"));
  // Every operation takes an X-Request-Id, but the document says so only here: for an operation
  // with two types of bodies, openapi-python-client makes code that can't be imported unless the
  // operation has an optional parameter.
  if (route.body.form == Body::Form::json_or_form)
    result.push_back(reference("parameters", "RequestId"));
  return result;
}

void add_oauth(json& choices, const Access& access) {
  for (const Scope scope : access.any_of)
    choices.push_back({{"oauth", json::array({info(scope).name})}});
  if (access.any_of.empty()) choices.push_back({{"oauth", json::array()}});
}

json security(const Access& access) {
  json choices = json::array();
  const auto add = [&](const char* scheme) { choices.push_back({{scheme, json::array()}}); };
  switch (access.kind) {
    case Access::Kind::open:
      break;
    case Access::Kind::session:
      add("session");
      // Such a route takes the tokens of the built-in client as well.
      if (access.first_party == Access::FirstParty::console_and_client) add_oauth(choices, access);
      break;
    case Access::Kind::play_session:
      add("play_session");
      break;
    case Access::Kind::internal:
      add("internal");
      if (access.first_party != Access::FirstParty::none) add("admin_token");
      break;
    case Access::Kind::session_or_play_session:
      add("session");
      add("play_session");
      break;
    case Access::Kind::session_or_oauth:
      add("session");
      add_oauth(choices, access);
      break;
    case Access::Kind::oauth:
      add_oauth(choices, access);
      break;
  }
  if (access.first_party != Access::FirstParty::none) add("console");
  return choices;
}

json operation(const Route& route, const SharedParameters& shared, json& components) {
  json result = {{"operationId", route.name},
                 {"tags", json::array({route.tag})},
                 {"summary", route.summary},
                 {"description", route.text},
                 {"security", security(route.guards.access)},
                 {"responses", responses(route, components)}};
  if (json list = parameters(route, shared, components["parameters"]); !list.empty())
    result["parameters"] = std::move(list);
  if (route.has_body()) {
    json types = content("application/json", route.body.schema);
    if (route.body.form == Body::Form::json_or_form)
      types.update(content("application/x-www-form-urlencoded", route.body.schema));
    result["requestBody"] = {{"required", route.body.form != Body::Form::optional_json},
                             {"content", std::move(types)}};
  }
  if (!route.archive.empty())
    result["requestBody"] = {{"required", true}, {"content", content(archive_type, route.archive)}};
  const Access& access = route.guards.access;
  if (access.role) result["x-role"] = to_string(*access.role);
  for (const accounts::AdminRole role : access.admin_roles) result["x-admin-roles"].push_back(role);
  if (access.in_person) result["x-admin-in-person"] = true;
  if (route.guards.rate.limit > 0)
    result["x-rate-limit"] = {{"limit", route.guards.rate.limit},
                              {"window_seconds", route.guards.rate.window.count()}};
  return result;
}

// Answers to bodies may name fields that were ignored (Gate::with_warnings()).
void add_warnings(json& schemas, const std::vector<Route>& table) {
  const json warnings = {
      {"type", "array"},
      {"readOnly", true},  // some of the schemas describe request bodies, too
      {"items", {{"type", "string"}}},
      {"description",
       "Sentences about the request: fields of the body that this operation doesn't have, and that "
       "were ignored. Absent if there are none."},
      {"example", json::array({"env_var was ignored: this operation has no such field; did you "
                               "mean env_vars?"})}};
  for (const Route& route : table) {
    if (!route.has_body() || is_oauth(route.guards.shape)) continue;
    json& schema = schemas.at(std::string(route.answer.schema));
    if (schema.value("type", "object") != "object") continue;  // such as an archive
    // Several operations may have the same schema, which gets the field once.
    json& fields =
        schema.contains("allOf") ? schema["allOf"].back()["properties"] : schema["properties"];
    fields["warnings"] = warnings;
  }
}

json headers() {
  const auto header = [](const char* type, const char* text, const json& example) {
    return json{{"description", text}, {"schema", {{"type", type}}}, {"example", example}};
  };
  return {
      {"RateLimit-Limit", header("integer", "How many requests are allowed in a time window.", 30)},
      {"RateLimit-Remaining", header("integer", "How many requests are left in the window.", 0)},
      {"RateLimit-Reset",
       header("integer", "Seconds until the oldest request leaves the window.", 42)},
      {"Retry-After", header("integer", "How many seconds to wait.", 42)},
      {"Link", header("string", "Where the list continues (RFC 8288); absent on its last page.",
                      "<https://berth.example.org/api/operators?page=2>; rel=\"next\"")},
      {"ETag", header("string", "Identifies this text; to be sent as If-None-Match.",
                      "\"6mYcTzUuFlPwzSLgDvXvWw\"")},
      {"Location", header("string", "Where to continue.", "https://berth.example.org/login")},
      {"X-Archive-Size", header("integer", "The archive's length in bytes.", 1048576)},
      {"WWW-Authenticate",
       header(
           "string",
           "Which token, or which scope of it, is needed (RFC 6750, section 3; RFC 9728, section "
           "5.1).",
           "Bearer realm=\"berth\"")}};
}

json webhook_headers() {
  json result = json::array();
  for (const auto& [name, text] : document_texts().events.at("headers").items())
    result.push_back({{"name", name},
                      {"in", "header"},
                      {"required", true},
                      {"description", text.at("description")},
                      {"schema", {{"type", "string"}}},
                      {"example", text.at("example")}});
  return result;
}

// The requests that berth sends to the webhooks of apps.
json webhooks(json& components) {
  json list = json::array();
  for (json& header : webhook_headers()) {
    const std::string component = "Webhook." + header["name"].get<std::string>();
    list.push_back(reference("parameters", component));
    components[component] = std::move(header);
  }
  json result = json::object();
  for (const auto& [type, event] : document_texts().events.at("events").items()) {
    const json data = {{"type", "object"},
                       {"required", json::array({"type", "data"})},
                       {"properties",
                        {{"type", {{"type", "string"}, {"const", type}}},
                         {"data", reference("schemas", event.at("data").get<std::string>())}}}};
    const json schema = {{"allOf", json::array({reference("schemas", "WebhookEvent"), data})}};
    result[type]["post"] = {
        {"operationId", event.at("name")},
        {"tags", json::array({"Webhooks"})},
        {"summary", event.at("summary")},
        {"description", event.at("description")},
        {"security", json::array()},
        {"parameters", list},
        {"requestBody",
         {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}}},
        {"responses",
         {{"2XX", {{"description", "The event was received; the answer's body is ignored."}}},
          {"default", {{"description", "The event is sent again later, for three days."}}}}}};
  }
  return result;
}

json security_schemes(const std::string& base_url) {
  json scopes = json::object();
  for (const ScopeInfo& scope : all_scopes()) scopes[std::string(scope.name)] = scope.grants;
  return {
      {"session",
       {{"type", "http"},
        {"scheme", "bearer"},
        {"bearerFormat", "JWT"},
        {"description", "The session JWT from POST /api/auth/login."}}},
      {"oauth",
       {{"type", "oauth2"},
        {"description",
         "Access tokens of the form at_live_…. Tokens of the built-in client `berth` work for "
         "all of the user's apps: the header Berth-App, with an id or client_id, chooses one "
         "where the user has several. Beside `session`, only tokens of that client work. Personal "
         "access tokens (pat_live_…) work where `session` doesn't, and at "
         "GET /api/operator/money, with Berth-App as well unless they are for one app; not for "
         "points:spend, points:transfer and points:award. Where no scope is named, they need "
         "app:balance:read. deploy:manage includes deploy:read, deploy:write and logs:read."},
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
      {"console",
       {{"type", "apiKey"},
        {"in", "cookie"},
        {"name", base_url.starts_with("https://") ? "__Host-berth_session" : "berth_session"},
        {"description",
         "The cookie of a login in a browser, for berth's own pages: only with "
         "`Sec-Fetch-Site: same-origin` and `Berth-Console: 1`. The header Berth-App, with an "
         "id or client_id, chooses one of the user's apps where they have several. Below "
         "/api/internal/ it works for admins who have proven their second factor within the "
         "last 15 minutes, or 12 hours for what only reads (stepUp); `details.step_up` of a "
         "403 says what is missing."}}},
      {"internal",
       {{"type", "apiKey"},
        {"in", "header"},
        {"name", "x-internal-secret"},
        {"description",
         "For machines of the platform's admins: a secret of berthd's configuration, or one that "
         "an admin has made (makeInternalSecret), which has a role. x-admin-roles of an operation "
         "says which roles may call it, and x-admin-in-person that it takes an admin in the "
         "console or a secret of the configuration."}}},
      {"admin_token",
       {{"type", "http"},
        {"scheme", "bearer"},
        {"description",
         "A personal access token (pat_live_…) with the scope admin, of an admin who has a second "
         "factor. It may do what the admin's role may, and lives for 30 days at most."}}}};
}

// The same schema for generators of clients, which know a value that is a text or a list only as
// oneOf: each type with the keywords that are about it.
void write_union(json& schema) {
  if (!schema.is_structured()) return;
  for (json& part : schema) write_union(part);
  if (!schema.is_object() || schema.value("type", json()) != json{"string", "array"}) return;
  json text = {{"type", "string"}}, list = {{"type", "array"}};
  for (const char* keyword : {"minLength", "maxLength", "x-text"})
    if (schema.contains(keyword)) text[keyword] = schema[keyword];
  for (const char* keyword : {"maxItems", "items"}) list[keyword] = schema.at(keyword);
  schema = {{"oneOf", {std::move(text), std::move(list)}}};
}

}  // namespace

json openapi(const std::vector<Route>& table, Environment environment,
             const std::string& base_url) {
  json components = {{"schemas", all_schemas()},
                     {"parameters", common_parameters()},
                     {"headers", headers()},
                     {"responses", json::object()},
                     {"securitySchemes", security_schemes(base_url)}};
  const SharedParameters shared = shared_parameters(table);
  for (const auto& [parameter, name] : shared) components["parameters"][name] = parameter;
  add_warnings(components["schemas"], table);
  write_union(components["schemas"]);
  json paths = json::object();
  for (const Route& route : table) {
    if (route.availability == Availability::development_only &&
        environment != Environment::development)
      continue;
    paths[std::string(route.path())][lower_case(route.method())] =
        operation(route, shared, components);
  }
  json requests = webhooks(components["parameters"]);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "berth"},
            {"version", interface_version},
            {"x-berthd-version", version},
            {"x-berthd-commit", build_commit()},
            {"description", introduction},
            {"contact", {{"name", "The administrators of this berth"}, {"url", base_url}}},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"servers", json::array({{{"url", base_url}}})},
          {"tags", document_texts().tags},
          {"paths", std::move(paths)},
          {"webhooks", std::move(requests)},
          {"components", std::move(components)}};
}

}  // namespace berth::api
