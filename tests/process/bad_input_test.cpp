// Every kind of bad body, sent to every operation that takes a body according to openapi.json.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/process/client.h"
#include "tests/process/operations.h"

using namespace berth::process;

namespace {

constexpr size_t max_body_bytes = 1'048'576;  // the default of max-body-bytes
constexpr int too_deep = 40;                  // at most 32 levels are allowed

struct BadField {
  std::string field;  // path with dots
  std::string kind;
  std::string text;  // the value as JSON; if empty, the field is left out
  bool parses = true;
};

// Marks the place of the bad value, which nlohmann::json may not be able to represent.
constexpr const char* gap = "@gap@";
constexpr const char* far_too_long = "far too long";

bool allows(const json& schema, const std::string& type) {
  if (schema.contains("oneOf"))
    return std::ranges::any_of(schema.at("oneOf"),
                               [&](const json& each) { return allows(each, type); });
  const json& types = schema.at("type");
  return types.is_array() ? std::find(types.begin(), types.end(), type) != types.end()
                          : types == type;
}

std::string quoted(size_t length) { return json(std::string(length, 'x')).dump(); }

std::vector<std::pair<std::string, std::string>> wrong_types(const json& schema) {
  const std::vector<std::pair<std::string, std::string>> one_of_each = {
      {"null", "null"},
      {"boolean", "true"},
      {"integer", "7"},
      {"number", "7.5"},
      {"string", "\"x\""},
      {"array", "[\"x\", [1], {}]"},
      {"object", R"({"x": [1], "y": null})"}};
  std::vector<std::pair<std::string, std::string>> wrong;
  for (const auto& [type, text] : one_of_each)
    if (!allows(schema, type)) wrong.emplace_back(type + " instead", text);
  return wrong;
}

std::vector<std::pair<std::string, std::string>> out_of_bounds(const json& schema) {
  std::vector<std::pair<std::string, std::string>> bad;
  const auto limit = [&](const char* key) { return schema.at(key).get<std::int64_t>(); };
  const auto list_of = [](std::int64_t count) {
    json list = json::array();
    for (std::int64_t i = 0; i < count; ++i) list.push_back("profile:read");
    return list.dump();
  };
  if (schema.contains("maxLength") && size_t(limit("maxLength")) < max_body_bytes / 2)
    bad.emplace_back(far_too_long, quoted(max_body_bytes / 2));
  if (schema.contains("maxLength"))
    bad.emplace_back("too long", quoted(size_t(limit("maxLength")) + 1));
  if (schema.contains("minLength"))
    bad.emplace_back("too short", quoted(size_t(limit("minLength")) - 1));
  if (schema.contains("maximum"))
    bad.emplace_back("too large", std::to_string(limit("maximum") + 1));
  if (schema.contains("minimum"))
    bad.emplace_back("too small", std::to_string(limit("minimum") - 1));
  if (schema.contains("maxItems")) bad.emplace_back("too many", list_of(limit("maxItems") + 1));
  if (schema.contains("minItems")) bad.emplace_back("too few", list_of(limit("minItems") - 1));
  if (schema.contains("enum")) bad.emplace_back("none of them", "\"nothing like it\"");
  if (schema.contains("format")) bad.emplace_back("no such format", "\"nothing like it\"");
  if (schema.contains("pattern")) bad.emplace_back("no match", "\"Nothing-like-it-\"");
  if (schema.contains("maxProperties")) {
    json object;
    for (std::int64_t i = 0; i <= limit("maxProperties"); ++i)
      object["k" + std::to_string(i)] = "x";
    bad.emplace_back("too many keys", object.dump());
  }
  return bad;
}

std::vector<BadField> bad_fields(const json& schema, const std::string& prefix = "") {
  std::vector<BadField> bad;
  const json properties = schema.value("properties", json::object());
  const json required = schema.value("required", json::array());
  for (const auto& [name, field] : properties.items()) {
    if (field.value("readOnly", false)) continue;
    const std::string path = prefix + name;
    if (std::find(required.begin(), required.end(), name) != required.end())
      bad.push_back({path, "missing", ""});
    for (const auto& [kind, text] : wrong_types(field)) bad.push_back({path, kind, text});
    for (const auto& [kind, text] : out_of_bounds(field)) bad.push_back({path, kind, text});
    for (const char* number : {"18446744073709551616", "-9223372036854775809", "1e300"})
      bad.push_back({path, std::string("the number ") + number, number});
    // What is taken as if the field were missing, and a code that is written as a number.
    const bool is_optional = std::find(required.begin(), required.end(), name) == required.end();
    const bool is_code = field.value("format", "") == "one-time-code";
    std::erase_if(bad, [&](const BadField& one) {
      if (one.field != path) return false;
      const bool is_nothing = one.text == "null" || one.text == "\"\"";
      return (is_optional && is_nothing) ||
             (is_code && (one.text == "7" || one.kind == "no such format"));
    });
    for (const char* unreadable :
         {"1e400", "\"\xff\"", "\"\\ud800\"", "\"\\x\"", "01", "NaN", "'x'"})
      bad.push_back({path, std::string("unreadable: ") + unreadable, unreadable, false});
    if (field.contains("items"))
      for (const auto& [kind, text] : wrong_types(field["items"]))
        bad.push_back({path, "an item: " + kind, "[" + text + "]"});
    if (field.contains("additionalProperties"))
      for (const auto& [kind, text] : wrong_types(field["additionalProperties"]))
        bad.push_back({path, "a value: " + kind, "{\"KEY\": " + text + "}"});
    for (const BadField& inner : bad_fields(field, path + ".")) bad.push_back(inner);
  }
  return bad;
}

// Returns a complete body made of the schema's examples, including optional objects.
json complete_example(const json& schema) {
  json example = schema.value("example", json());
  if (!schema.contains("properties")) return example;
  if (!example.is_object()) example = json::object();
  for (const auto& [name, field] : schema["properties"].items())
    if (!example.contains(name)) example[name] = complete_example(field);
  return example;
}

std::string body_with(const Operation& operation, const BadField& bad) {
  json body = operation.body_example;
  json* at = &body;
  const json* schema = &operation.body_schema;
  std::string rest = bad.field;
  for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    schema = &schema->at("properties").at(rest.substr(0, dot));
    json& inner = (*at)[rest.substr(0, dot)];
    if (!inner.is_object()) inner = complete_example(*schema);
    at = &inner;
    rest.erase(0, dot + 1);
  }
  if (bad.text.empty()) {
    at->erase(rest);
    return body.dump();
  }
  (*at)[rest] = gap;
  const std::string text = body.dump();
  const std::string placeholder = json(gap).dump();
  const size_t where = text.find(placeholder);
  return text.substr(0, where) + bad.text + text.substr(where + placeholder.size());
}

// The operator who sends these bodies, and what they must not change.
class World {
 public:
  World()
      : berthd({"--rate-limits", "off"}),
        // The scopes of all operations that take a body.
        ada(operator_with_token(berthd, "ada",
                                {"profile:read", "points:spend", "points:transfer", "deploy:manage",
                                 "campaigns:manage"})),
        session(berthd, ada.user.jwt),
        platform(berthd) {
    const json scopes = {{"requested_scopes", {"app:balance:read"}}};
    request_id =
        expect(201, session.post("/api/oauth/my-apps/" + ada.app.id + "/scope-request", scopes))
            .body.at("id");
  }

  Answer send(const Operation& operation, const std::string& body) {
    const bool decides = operation.path.find("/scope-requests/{id}") != std::string::npos;
    const Ask ask = {.method = operation.method,
                     .path = operation.path_with(
                         [&](const std::string&) { return decides ? request_id : ada.app.id; }),
                     .body = body,
                     .headers = {{"Content-Type", "application/json"}}};
    switch (operation.access) {
      case Access::session:
        return session.ask(ask);
      case Access::oauth:
        return ada.api.ask(ask);
      case Access::open:
        return platform.ask(ask);
      case Access::play_session:  // none of these operations takes a body
      case Access::internal:
        break;
    }
    Ask by_admin = ask;
    by_admin.headers.merge(admin(berthd));
    return platform.ask(by_admin);
  }

  json rows() {
    json all = json::array();
    for (const char* path :
         {"/api/internal/outbox", "/api/internal/scope-requests", "/api/internal/treasury"})
      all.push_back(expect(200, platform.get(path, admin(berthd))).body);
    all.push_back(expect(200, session.get("/api/oauth/my-apps")).body);
    all.push_back(expect(200, session.get("/api/auth/me")).body);
    all.push_back(expect(200, ada.api.get("/api/deploy/apps")).body);
    const json clock = expect(200, platform.get("/api/internal/clock", admin(berthd))).body;
    all.push_back(clock.at("ahead_seconds"));
    return all;
  }

  Berthd berthd;
  Operator ada;
  Client session;
  Client platform;
  std::string request_id;
};

// Whether one field of an operation shows what becomes of all: what isn't JSON is refused before
// any field is looked at, and a text of half a megabyte differs from one that is a character too
// long in what it costs.
bool is_enough_once(const BadField& bad) { return !bad.parses || bad.kind == far_too_long; }

bool is_oauth(const Operation& operation) {
  return operation.responses.at("400").dump().find("OAuthError") != std::string::npos;
}

}  // namespace

TEST_CASE("a bad field is refused by its name, and leaves no row") {
  World world;
  const json before = world.rows();
  size_t sent = 0;
  for (const Operation& operation : operations_of(world.berthd)) {
    if (operation.body_schema.is_null()) continue;
    std::set<std::string> done;
    for (const BadField& bad : bad_fields(operation.body_schema)) {
      if (is_enough_once(bad) && !done.insert(bad.kind).second) continue;
      INFO(operation.id << ": " << bad.field << " " << bad.kind);
      const Answer answer = world.send(operation, body_with(operation, bad));
      ++sent;
      operation.check_listed(answer);
      if (is_oauth(operation)) {
        CHECK(answer.status == 400);
        CHECK(answer.code() == "invalid_request");
      } else if (!bad.parses) {
        CHECK(answer.status == 400);
        CHECK(answer.code() == "invalid_json");
      } else if (answer.code() == "malformed_request") {
        // The specification (section "Errors") demands this of spending only, if the amount is
        // missing or invalid.
        CHECK(operation.id == "spendPoints");
        CHECK(bad.field == "amount");
      } else {
        CHECK(answer.status == 422);
        CHECK(answer.code() == "validation_failed");
        const json& error = answer.body["error"].is_object() ? answer.body["error"] : answer.body;
        const json details = error.value("details", json::object());
        CHECK(std::any_of(details.items().begin(), details.items().end(), [&](const auto& reason) {
          return reason.key() == bad.field || reason.key().starts_with(bad.field + ".");
        }));
      }
    }
  }
  CHECK(sent > 500);
  CHECK(world.rows() == before);
}

TEST_CASE("a body that isn't one is refused, and leaves no row") {
  World world;
  const json before = world.rows();
  std::string deep = "{\"x\":1}";
  for (int i = 0; i < too_deep; ++i) deep = "{\"x\":" + deep + "}";
  const std::vector<std::string> unreadable = {"",
                                               " ",
                                               "{",
                                               "nonsense",
                                               "{\"a\":1,}",
                                               "{'a':1}",
                                               "{\"a\":1} x",
                                               "\xff\xfe",
                                               "{\"a\":\"\x01\"}",
                                               std::string("{\"a\":1}\0", 8),
                                               "\xef\xbb\xbf{",
                                               deep,
                                               std::string(100'000, '[')};
  const std::string too_large = "{\"x\":" + quoted(max_body_bytes) + "}";
  for (const Operation& operation : operations_of(world.berthd)) {
    if (operation.body_schema.is_null()) continue;
    for (const std::string& body : unreadable) {
      if (body.empty() && !operation.needs_body) continue;
      INFO(operation.id << ": " << body.substr(0, 50));
      const Answer answer = world.send(operation, body);
      operation.check_listed(answer);
      CHECK(answer.status == 400);
      CHECK(answer.code() == (is_oauth(operation) ? "invalid_request" : "invalid_json"));
    }
    for (const std::string body : {"[]", "[{}]", "7", "\"x\"", "null", "true"}) {
      INFO(operation.id << ": " << body);
      const Answer answer = world.send(operation, body);
      operation.check_listed(answer);
      // The specification (section "Errors") demands 400 for a malformed request to spend.
      const bool malformed = is_oauth(operation) || operation.id == "spendPoints";
      CHECK(answer.status == (malformed ? 400 : 422));
    }
    const Answer answer = world.send(operation, too_large);
    operation.check_listed(answer);
    CHECK(answer.status == 413);
  }
  CHECK(world.rows() == before);
}

TEST_CASE("a NUL, or text in any script, breaks nothing") {
  World world;
  for (const Operation& operation : operations_of(world.berthd)) {
    if (operation.body_schema.is_null()) continue;
    for (const auto& [name, field] : operation.body_schema.at("properties").items())
      for (const char* text :
           {"\"a\\u0000b\"", "\"\\u202e\\ufffe\\ud83d\\ude00\"", "\"' OR 1=1 --\""}) {
        INFO(operation.id << ": " << name << " " << text);
        const Answer answer = world.send(operation, body_with(operation, {name, "", text}));
        CHECK(answer.status < 500);
        operation.check_listed(answer);
      }
  }
}

TEST_CASE("a bad page is refused") {
  World world;
  for (const char* list : {"/api/deploy/apps", "/api/oauth/my-apps"})
    for (const char* query : {"page=0", "page=-1", "page=x", "page=99999999999999999999",
                              "page_size=0", "page_size=101", "page_size=", "page_size=1.5"}) {
      INFO(list << "?" << query);
      Client& client = std::string(list) == "/api/deploy/apps" ? world.ada.api : world.session;
      const Answer answer = client.get(std::string(list) + "?" + query);
      CHECK(answer.status == 422);
      CHECK(answer.code() == "validation_failed");
    }
}
