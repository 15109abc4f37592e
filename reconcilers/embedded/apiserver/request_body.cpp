#include "reconcilers/embedded/apiserver/request_body.h"

#include "controller/base/text.h"
#include "controller/base/yaml.h"
#include "reconcilers/embedded/apiserver/http_text.h"

namespace berth::embedded {
namespace {

// Deeper values could exhaust the stack when they are copied.
constexpr int deepest = 200;

void check_depth(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      if (++depth > deepest) throw bad_request("the object provided is nested too deeply");
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
}

Refusal unrecognized(const std::string& kind, const std::string& why) {
  return bad_request("the object provided is unrecognized (must be of type " + kind +
                     "): couldn't get version/kind; json parse error: " + why);
}

Json checked_object(const std::string& kind, Json parsed) {
  if (!parsed.is_object())
    throw unrecognized(kind, "json: cannot unmarshal " + std::string(parsed.type_name()) +
                                 " into Go value of type struct");
  if (parsed.contains("metadata") && !parsed["metadata"].is_object() &&
      !parsed["metadata"].is_null())
    throw bad_request("json: cannot unmarshal " + std::string(parsed["metadata"].type_name()) +
                      " into Go struct field .metadata of type v1.ObjectMeta");
  return parsed;
}

}  // namespace

Json parse_object(const std::string& kind, const std::string& body) {
  check_depth(body);
  Json parsed = Json::parse(body, nullptr, false);
  if (parsed.is_discarded())
    throw unrecognized(kind,
                       body.empty() ? "unexpected end of JSON input (<empty>)" : "invalid JSON");
  return checked_object(kind, std::move(parsed));
}

Json parse_yaml_object(const std::string& kind, const std::string& body) {
  check_depth(body);
  Json parsed = Json::parse(body, nullptr, false);
  if (!parsed.is_discarded()) return checked_object(kind, std::move(parsed));
  try {
    parsed = parse_yaml(body, "yaml");
  } catch (const std::runtime_error& failure) {
    throw bad_request(std::string("error decoding YAML: error converting YAML to JSON: ") +
                      failure.what());
  }
  return checked_object(kind, std::move(parsed));
}

DeleteOptions delete_options(const api::Request& request, const std::string& body) {
  DeleteOptions options;
  const Json parsed = body.empty() ? Json::object() : parse_object("DeleteOptions", body);
  std::string policy = text_at(parsed, "propagationPolicy");
  if (policy.empty()) policy = parameter(request, "propagationPolicy");
  if (policy == "Orphan")
    options.propagation = Propagation::orphan;
  else if (policy == "Foreground")
    options.propagation = Propagation::foreground;
  else if (policy == "Background")
    options.propagation = Propagation::background;
  else if (!policy.empty())
    throw invalid_options("DeleteOptions",
                          unsupported_value("propagationPolicy", policy,
                                            {"Foreground", "Background", "Orphan", "nil"}));
  options.uid = text_at(at_path(parsed, "/preconditions"), "uid");
  options.resource_version = text_at(at_path(parsed, "/preconditions"), "resourceVersion");
  if (const Json& grace = at_path(parsed, "/gracePeriodSeconds"); grace.is_number_integer())
    options.grace_seconds = grace.get<std::int64_t>();
  if (const auto grace = parse_number<std::uint64_t>(parameter(request, "gracePeriodSeconds")))
    options.grace_seconds = static_cast<std::int64_t>(*grace);
  return options;
}

Request write_options(const api::Request& request, const std::string& subresource) {
  // The longest name of a manager (FieldManagerMaxLength).
  static constexpr size_t longest = 128;
  Request options;
  options.writer.manager = parameter(request, "fieldManager");
  if (options.writer.manager.empty()) {
    const std::string agent(request.headers.get("User-Agent"));
    options.writer.manager = agent.substr(0, std::min(agent.find('/'), longest));
  }
  if (options.writer.manager.empty()) options.writer.manager = "unknown";
  options.writer.subresource = subresource == "status" ? Subresource::status : Subresource::none;
  options.dry_run = parameter(request, "dryRun") == "All" ? DryRun::yes : DryRun::no;
  return options;
}

}  // namespace berth::embedded
