#include "api/gate/openapi_errors.h"

#include <cctype>
#include <set>

#include "api/gate/errors.h"

namespace berth::api {
namespace {

using CodeNames = std::set<std::string_view>;

constexpr const char* server_refusal = "ServerRefusal";

// A component's name consists of at most this many codes.
constexpr size_t most_codes_in_name = 3;

// Returns whether the refusals with this status come from the server itself, in one form for all
// operations.
bool is_of_server(int http_status) {
  return body_of(Shape::nested, http_status) == ErrorBody::framework;
}

// Returns every error code that the operation can answer with: the codes in its row, and those that
// follow from the tokens, bodies and limits that the row names. The codes of the server itself are
// left out.
std::set<Code> codes_of(const Route& route) {
  std::set<Code> codes(route.errors.begin(), route.errors.end());
  const bool oauth = is_oauth(route.guards.shape);
  switch (route.guards.access.kind) {
    case Access::Kind::open:
      break;
    case Access::Kind::oauth:
    case Access::Kind::session_or_oauth:
      codes.insert(Code::insufficient_scope);  // a personal token always needs one
      [[fallthrough]];
    case Access::Kind::session:
      if (!route.guards.access.any_of.empty()) codes.insert(Code::insufficient_scope);
      [[fallthrough]];
    case Access::Kind::play_session:
    case Access::Kind::session_or_play_session:
      // Such a route refuses a session token that may only read.
      if (route.guards.access.kind == Access::Kind::session_or_play_session &&
          route.method() != "GET")
        codes.insert(Code::insufficient_scope);
      codes.insert({Code::invalid_token, Code::token_expired, Code::token_revoked,
                    Code::wrong_token_type, Code::account_suspended});
      break;
    case Access::Kind::internal:
      codes.insert(Code::forbidden);
      if (route.guards.access.first_party != Access::FirstParty::none)
        codes.insert({Code::invalid_token, Code::token_expired, Code::token_revoked,
                      Code::insufficient_scope, Code::account_suspended});
      break;
  }
  if (route.guards.rate.limit > 0) codes.insert(Code::rate_limited);
  if (const auto* budget = write_budgets::find(route.stores);
      budget != nullptr && route.stores != Stores::unsaid) {
    codes.insert(Code::rate_limited);
    if (budget->unverified.bytes == 0) codes.insert(Code::email_not_verified);
  }
  if (route.has_body()) {
    if (oauth)
      codes.insert(Code::invalid_request);
    else
      codes.insert({Code::invalid_json, Code::validation_failed});
  }
  if ((route.paged || !route.query.empty()) && !oauth) codes.insert(Code::validation_failed);
  if (route.idempotency == Idempotency::kept)
    codes.insert({Code::idempotency_conflict, Code::malformed_request});
  std::erase_if(codes, [](Code code) { return is_of_server(status(code)); });
  return codes;
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

const char* prefix_of(ErrorBody body) {
  switch (body) {
    case ErrorBody::simple:
      return "Simple";
    case ErrorBody::oauth:
      return "OAuth";
    case ErrorBody::oauth_and_message:
      return "OAuthMessage";
    case ErrorBody::framework:
    case ErrorBody::nested:
      break;
  }
  return "";
}

// Returns the name of the component for an answer with these codes. It consists of the codes or, if
// there are too many, of the operation's name. The codes that every operation with a token has
// count as one.
std::string name_of(const Route& route, int http_status, ErrorBody body, CodeNames codes) {
  for (const char* of_token : {"token_expired", "token_revoked", "wrong_token_type"})
    codes.erase(of_token);
  if (codes.size() > 1) codes.erase("account_suspended");
  std::string result = prefix_of(body);
  if (codes.size() > most_codes_in_name)
    return result + in_camel_case(route.name) + std::to_string(http_status);
  for (const std::string_view code : codes) result += in_camel_case(code);
  return result;
}

// Returns an example of the error's message: its meaning, written as a part of a sentence.
std::string message_of(const CodeInfo& code) {
  std::string text(code.meaning);
  if (text.ends_with('.')) text.pop_back();
  text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

json example_of(Code code, Shape shape) {
  const bool has_details = code == Code::validation_failed;
  const Error error =
      has_details ? invalid_field("name", "is required") : Error(code, message_of(info(code)));
  return reply_to(error, shape, {}).body;
}

json server_response() {
  std::string list;
  json example;
  for (const CodeInfo& code : all_codes()) {
    if (!is_of_server(code.status)) continue;
    if (list.empty()) example = example_of(code.code, Shape::nested);
    list += (list.empty() ? "" : ", ") + std::string(code.name) + " (" +
            std::to_string(code.status) + ")";
  }
  return {{"description", list + ": the server itself refuses the request."},
          {"content",
           {{"application/json",
             {{"schema", reference("schemas", schema_of(ErrorBody::framework))},
              {"example", std::move(example)}}}}}};
}

json headers_of(int http_status, const CodeNames& codes) {
  // A consumed refresh token (invalid_grant) is the only 401 without a challenge. Among the 403s,
  // only the lack of a scope has one (RFC 6750, section 3.1).
  const bool has_challenge = http_status == 401 ? codes != CodeNames{"invalid_grant"}
                                                : codes.contains(name(Code::insufficient_scope));
  if (has_challenge) return {{"WWW-Authenticate", reference("headers", "WWW-Authenticate")}};
  if (http_status != 429) return nullptr;
  json result = json::object();
  for (const char* name :
       {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"})
    result[name] = reference("headers", name);
  return result;
}

}  // namespace

json reference(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

std::string in_camel_case(std::string_view words) {
  std::string result;
  bool begins = true;
  for (const char c : words) {
    if (c != '_') result += begins ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return result;
}

json error_responses(const Route& route, json& components) {
  std::map<int, std::set<Code>> by_status;
  for (const Code code : codes_of(route)) by_status[status(code)].insert(code);
  if (!components.contains(server_refusal)) components[server_refusal] = server_response();
  json result = {{"default", reference("responses", server_refusal)}};
  // Linters want every operation to list a refusal.
  if (by_status.empty()) result["4XX"] = result["default"];
  for (const auto& [http_status, codes] : by_status) {
    CodeNames names;
    for (const Code code : codes) names.insert(name(code));
    if (http_status == 400) names.insert(route.other_codes.begin(), route.other_codes.end());
    std::string list;
    for (const std::string_view each : names) list.append(list.empty() ? "" : ", ").append(each);
    const ErrorBody body = body_of(route.guards.shape, http_status);
    const json schema = reference("schemas", schema_of(body));
    const json example = example_of(*codes.begin(), route.guards.shape);
    json response = {
        {"description", list},
        {"content", {{"application/json", {{"schema", schema}, {"example", example}}}}}};
    if (json headers = headers_of(http_status, names); !headers.is_null())
      response["headers"] = std::move(headers);
    const std::string name_without_number = name_of(route, http_status, body, names);
    std::string component = name_without_number;
    for (int number = 2; components.contains(component) && components[component] != response;
         ++number)
      component = name_without_number + std::to_string(number);
    components[component] = std::move(response);
    result[std::to_string(http_status)] = reference("responses", component);
  }
  return result;
}

}  // namespace berth::api
