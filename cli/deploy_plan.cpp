#include "cli/deploy_plan.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "cli/config.h"
#include "cli/failure.h"
#include "cli/suggest.h"
#include "controller/base/ascii.h"
#include "controller/base/visible_text.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

// The name of a field in an order, and where it is in a deployment.
struct Field {
  const char* order;
  const char* live;
};
constexpr std::array planned_fields = std::to_array<Field>({{"image", "container_image"},
                                                            {"tier", "tier"},
                                                            {"port", "port"},
                                                            {"custom_domain", "custom_domain"},
                                                            {"health_path", "health_path"},
                                                            {"labels", "labels"}});

std::string shown(const json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, fits) &&
         std::isdigit(static_cast<unsigned char>(text[0])) == 0;
}

std::string interpolated(const std::string& text, const std::string& where) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0 && text.find('}', i) != std::string::npos) {
      const size_t end = text.find('}', i);
      const std::string name = text.substr(i + 2, end - i - 2);
      // An empty value is a value too.
      const char* value = is_name(name) ? std::getenv(name.c_str()) : nullptr;
      if (value == nullptr)
        throw Failure(Exit::usage, where + ": the variable " + name + " isn't set");
      result += value;
      i = end;
      continue;
    }
    result += text[i];
    if (text.compare(i, 2, "$$") == 0) ++i;  // stands for one of them
  }
  return result;
}

std::string scalar(const json& value, const std::string& where) {
  if (value.is_string()) return interpolated(value.get<std::string>(), where);
  throw Failure(Exit::usage, where + " must be text");
}

json texts_in(const json& object, const std::string& where) {
  if (object.is_null()) return nullptr;
  if (!object.is_object()) throw Failure(Exit::usage, where + " must contain keys and values");
  json result = json::object();
  for (const auto& [key, value] : object.items()) result[key] = scalar(value, where + "." + key);
  return result;
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = {"name", "env_vars", "registry_credentials"};
  for (const Field& field : planned_fields) keys.emplace_back(field.order);
  return keys;
}

bool is_known(const std::string& key) {
  const auto keys = known_keys();
  return std::ranges::find(keys, key) != keys.end();
}

// Checks what can be known without the server, so that --dry-run finds it. The bounds are the
// API's.
void check_order(const json& order, const std::string& where) {
  constexpr int last_port = 65'535;
  const auto refuse = [&](const std::string& key, const char* wanted) {
    throw Failure(Exit::usage,
                  where + ": " + key + " has to be " + wanted + ", not " + order.at(key).dump());
  };
  if (!is_deployment_name(order.at("name").get<std::string>())) refuse("name", name_rule);
  if (const auto port = order.find("port"); port != order.end())
    if (!port->is_number_integer() || *port < 1 || *port > last_port)
      refuse("port", "a whole number from 1 to 65535");
  if (order.contains("tier") && !order.at("tier").is_string()) refuse("tier", "a text");
  for (const char* key : {"custom_domain", "health_path"})
    if (order.contains(key) && !order.at(key).is_string() && !order.at(key).is_null())
      refuse(key, "a text or null");
}

// `texts` is the entry with its scalars as they were written, because variables are texts, and 1.10
// isn't the same as 1.1.
json parse_order(const json& entry, const json& texts, const std::string& where) {
  if (!entry.is_object())
    throw Failure(Exit::usage, where + " contains no deployment",
                  "It needs a name and an image; `berth man` shows an example.");
  json order = json::object();
  for (const auto& [given, value] : entry.items()) {
    const std::string key = given == "env" ? "env_vars" : given;
    if (!is_known(key) || order.contains(key))
      throw Failure(
          Exit::usage,
          where + ": " + given +
              (order.contains(key) ? " occurs twice"
                                   : " isn't known" + did_you_mean(given, known_keys())),
          "The keys are name, image, tier, port, custom_domain, health_path, labels, env_vars and "
          "registry_credentials.");
    const bool holds_texts = key == "env_vars" || key == "registry_credentials" || key == "labels";
    order[key] = holds_texts ? texts_in(texts.at(given), where + "." + key) : value;
    if (key == "labels" && order[key].is_null()) order[key] = json::object();
  }
  for (const char* needed : {"name", "image"})
    if (!order.contains(needed) || !order.at(needed).is_string())
      throw Failure(Exit::usage, where + ": " + needed + " is missing or isn't text");
  check_order(order, where);
  return order;
}

bool is_same(const Field& field, const json& wanted, const json& there) {
  if (std::string_view(field.order) != "custom_domain" || !wanted.is_string() || !there.is_string())
    return wanted == there;
  // Host names are case-insensitive; the server stores them in lower case.
  return equal_in_lower_case(wanted.get<std::string>(), there.get<std::string>());
}

std::vector<std::string> keys_of(const json& live) {
  const auto keys = live.find("env_keys");
  return keys == live.end() ? std::vector<std::string>() : keys->get<std::vector<std::string>>();
}

void plan_env(Plan& plan, const json& order, const json& live) {
  const auto env = order.find("env_vars");
  if (env == order.end()) return;
  const auto there = keys_of(live);
  json changes = env->is_null() ? json::object() : *env;
  for (const auto& [key, value] : changes.items()) {
    if (std::ranges::find(there, key) == there.end())
      plan.changes.push_back({"env_vars." + key, "", "(set)"});
    else
      plan.unseen.push_back("env_vars." + key);
  }
  for (const std::string& key : there)
    if (!changes.contains(key)) {
      plan.changes.push_back({"env_vars." + key, "(set)", ""});
      changes[key] = nullptr;
    }
  if (!changes.empty()) plan.body["env_vars"] = changes;
}

Plan creation(const json& order) {
  Plan plan = {.kind = Plan::Kind::create, .name = order.at("name"), .id = {}, .body = order};
  if (!plan.body.contains("tier")) plan.body["tier"] = "free";
  for (const Field& field : planned_fields)
    if (const auto value = plan.body.find(field.order); value != plan.body.end())
      plan.changes.push_back({field.order, "", shown(*value)});
  if (const auto env = order.find("env_vars"); env != order.end() && env->is_object())
    for (const auto& [key, value] : env->items())
      plan.changes.push_back({"env_vars." + key, "", "(set)"});
  if (order.contains("registry_credentials"))
    plan.changes.push_back({"registry_credentials", "", "(set)"});
  return plan;
}

}  // namespace

bool is_deployment_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= longest_name && std::ranges::all_of(text, fits) &&
         !text.starts_with('-') && !text.ends_with('-');
}

std::pair<std::string, std::string> parse_env(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (!is_name(name)) throw Failure(Exit::usage, "\"" + name + "\" isn't the name of a variable");
  if (equals != std::string::npos) return {name, text.substr(equals + 1)};
  const char* value = std::getenv(name.c_str());
  if (value == nullptr)
    throw Failure(Exit::usage, "the variable " + name + " isn't set in your environment",
                  "--env " + name + " uses the value from your environment; write --env " + name +
                      "=VALUE to give a value.");
  return {name, value};
}

json parse_env_file(const std::string& text, const std::string& source) {
  if (!is_utf8(text)) throw Failure(Exit::usage, source + " isn't UTF-8");
  json result = json::object();
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line[start] == '#') continue;
    const size_t equals = line.find('=');
    if (equals == std::string::npos || !is_name(line.substr(0, equals)))
      throw Failure(Exit::usage, source + ", line " + std::to_string(number) + " isn't KEY=VALUE");
    std::string value = line.substr(equals + 1);
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
      value = value.substr(1, value.size() - 2);
    result[line.substr(0, equals)] = value;
  }
  return result;
}

std::vector<json> parse_orders(const std::string& text, const std::string& source) {
  json content;
  json texts;
  try {
    content = parse_yaml(text, source);
    texts = parse_yaml(text, source, Scalars::texts);
    if (yaml_documents(text, source) > 1)
      throw Failure(Exit::usage, source + " contains several documents",
                    "Put several deployments into one document, as a list under `deployments`.");
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw Failure(Exit::usage, error.what());
  }
  const bool is_list = content.is_object() && content.contains("deployments");
  if (!is_list) return {parse_order(content, texts, source)};
  if (content.size() != 1 || !content.at("deployments").is_array() ||
      content.at("deployments").empty())
    throw Failure(Exit::usage, source + ": deployments must be a list and the only key");
  std::vector<json> orders;
  for (const json& entry : content.at("deployments")) {
    orders.push_back(parse_order(entry, texts.at("deployments").at(orders.size()),
                                 source + ", deployment " + std::to_string(orders.size() + 1)));
    for (size_t i = 0; i + 1 < orders.size(); ++i)
      if (orders[i].at("name") == orders.back().at("name"))
        throw Failure(Exit::usage, source + ": " + shown(orders[i].at("name")) + " occurs twice");
  }
  return orders;
}

Plan plan_for(const json& order, const json& live) {
  if (live.is_null()) return creation(order);
  Plan plan = {.kind = Plan::Kind::patch,
               .name = order.at("name"),
               .id = live.at("id"),
               .body = json::object()};
  for (const Field& field : planned_fields) {
    const auto wanted = order.find(field.order);
    if (wanted == order.end() || is_same(field, *wanted, live.value(field.live, json()))) continue;
    plan.body[field.order] = *wanted;
    plan.changes.push_back({field.order, shown(live.value(field.live, json())), shown(*wanted)});
  }
  plan_env(plan, order, live);
  if (const auto credentials = order.find("registry_credentials"); credentials != order.end()) {
    plan.body["registry_credentials"] = *credentials;
    plan.unseen.emplace_back("registry_credentials");
  }
  if (plan.body.empty()) plan.kind = Plan::Kind::nothing;
  return plan;
}

std::string describe(const Plan& plan) {
  if (plan.kind == Plan::Kind::nothing) return "  " + plan.name + ": nothing to change\n";
  const bool creates = plan.kind == Plan::Kind::create;
  std::string text = (creates ? "+ " : "~ ") + plan.name + (creates ? ": create\n" : ": change\n");
  for (const Change& change : plan.changes) {
    if (change.from.empty())
      text += "    + " + change.field + ": " + change.to + "\n";
    else if (change.to.empty())
      text += "    - " + change.field + "\n";
    else
      text += "    ~ " + change.field + ": " + change.from + " -> " + change.to + "\n";
  }
  for (const std::string& field : plan.unseen)
    text += "    = " + field + ": is sent again, but changes only if it differs\n";
  return text;
}

}  // namespace berth::cli
