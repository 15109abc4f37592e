#include "cli/deploy_plan.h"

#include <algorithm>
#include <set>

#include "cli/failure.h"
#include "cli/interpolation.h"
#include "cli/suggest.h"
#include "controller/base/ascii.h"
#include "controller/base/container_spec.h"
#include "controller/base/text.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

using deployments::ContainerField;

// The name of a field in an order, and where it is in a deployment.
struct Field {
  std::string order;
  std::string live;
  const ContainerField* container = nullptr;  // the row of a container's field
};

const std::vector<Field>& planned_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all;
    for (const ContainerField& field : deployments::container_fields)
      all.push_back({std::string(field.name), std::string(field.answered_as), &field});
    for (const char* name : {"tier", "custom_domain", "labels"}) all.push_back({name, name});
    return all;
  }();
  return fields;
}

std::string shown(const json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Returns the text with environment variables filled in.
std::string filled(const std::string& text, const std::string& where) {
  const auto missing = [&](const std::string& name) -> std::string {
    throw Failure(Exit::usage, where + ": the variable " + name + " isn't set",
                  "${" + name + ":-TEXT} stands for TEXT where it isn't set, and $${ for ${.");
  };
  return interpolated(text, Dollars::braces, from_environment, missing, where);
}

std::string scalar(const json& value, const std::string& where) {
  if (value.is_string()) return filled(value.get<std::string>(), where);
  throw Failure(Exit::usage, where + " must be text");
}

json texts_in(const json& object, const std::string& where) {
  if (object.is_null()) return nullptr;
  if (!object.is_object()) throw Failure(Exit::usage, where + " must contain keys and values");
  json result = json::object();
  for (const auto& [key, value] : object.items()) result[key] = scalar(value, where + "." + key);
  return result;
}

bool is_of(const Field& field, ContainerField::Kind kind) {
  return field.container && field.container->kind() == kind;
}

// The field with this name; one without a row if there is none.
Field field_called(const std::string& name) {
  const auto found = std::ranges::find(planned_fields(), name, &Field::order);
  return found == planned_fields().end() ? Field{.order = name, .live = name} : *found;
}

// Returns the value of a field that has parts, with environment variables filled in. The words of a
// command are texts, as they were written.
json structure(const json& value, const json& texts, const std::string& where) {
  if (value.is_string()) return filled(value.get<std::string>(), where);
  json result = value;
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      result[i] = structure(value[i], texts[i], where + "." + std::to_string(i));
  if (value.is_object())
    for (const auto& [name, part] : value.items()) {
      const bool is_words = (name == "command" || name == "args") && part.is_array();
      result[name] =
          structure(is_words ? texts.at(name) : part, texts.at(name), where + "." + name);
    }
  return result;
}

// Returns the value of a field with environment variables filled in. A number that comes from a
// variable becomes one. `texts` is the value with its scalars as they were written.
json setting(const json& value, const json& texts, const std::string& key,
             const std::string& where) {
  const Field field = field_called(key);
  if (is_of(field, ContainerField::Kind::texts) && value.is_array()) {
    json list = json::array();
    for (const json& text : texts)
      list.push_back(scalar(text, where + "." + key + "." + std::to_string(list.size())));
    return list;
  }
  if (field.container && field.container->is_structure())
    return structure(value, texts, where + "." + key);
  if (!value.is_string()) return value;
  const std::string result = filled(value.get<std::string>(), where + ": " + key);
  const bool is_number = is_of(field, ContainerField::Kind::number) && result != value;
  const auto number = is_number ? parse_number<std::int64_t>(result) : std::nullopt;
  return number ? json(*number) : json(result);
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = {"name"};
  for (const Field& field : planned_fields()) keys.push_back(field.order);
  keys.insert(keys.end(), {"env_vars", "registry_credentials"});
  return keys;
}

bool is_known(const std::string& key) {
  const auto keys = known_keys();
  return std::ranges::find(keys, key) != keys.end();
}

// Returns what the value of the field has to be; an empty text if it is that.
std::string wanted_of(const Field& field, const json& value) {
  if (is_of(field, ContainerField::Kind::texts)) return value.is_array() ? "" : "a list of texts";
  if (is_of(field, ContainerField::Kind::number)) {
    const auto& [least, most] = std::pair(field.container->least, field.container->most);
    return value.is_number_integer() && value >= least && value <= most
               ? ""
               : "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  if (is_of(field, ContainerField::Kind::flag)) return value.is_boolean() ? "" : "true or false";
  if (is_of(field, ContainerField::Kind::crons))
    return value.is_array() || value.is_null() ? "" : "a list";
  if (field.container && field.container->is_structure())
    return value.is_object() || value.is_null() ? "" : "keys and values";
  const bool takes_null = field.container ? field.container->is_removable() : field.order != "tier";
  if (value.is_string() || field.order == "labels" || (value.is_null() && takes_null)) return "";
  return takes_null ? "a text or null" : "a text";
}

// Checks what can be known without the server, so that --dry-run finds it.
void check_order(const json& order, const std::string& where) {
  const auto refuse = [&](const std::string& key, const std::string& wanted) {
    throw Failure(Exit::usage,
                  where + ": " + key + " has to be " + wanted + ", not " + order.at(key).dump());
  };
  if (!is_deployment_name(order.at("name").get<std::string>())) refuse("name", name_rule);
  for (const Field& field : planned_fields())
    if (const auto value = order.find(field.order); value != order.end())
      if (const auto wanted = wanted_of(field, *value); !wanted.empty())
        refuse(field.order, wanted);
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
      throw Failure(Exit::usage,
                    where + ": " + given +
                        (order.contains(key) ? " occurs twice"
                                             : " isn't known" + did_you_mean(given, known_keys())),
                    "The keys are " + joined(known_keys(), ", ") + ".");
    const bool holds_texts = key == "env_vars" || key == "registry_credentials" || key == "labels";
    order[key] = holds_texts ? texts_in(texts.at(given), where + "." + key)
                             : setting(value, texts.at(given), key, where);
    if (key == "labels" && order[key].is_null()) order[key] = json::object();
    if (is_of(field_called(key), ContainerField::Kind::texts) && order[key].is_null())
      order[key] = json::array();
  }
  for (const char* needed : {"name", "image"})
    if (!order.contains(needed) || !order.at(needed).is_string())
      throw Failure(Exit::usage, where + ": " + needed + " is missing or isn't text");
  check_order(order, where);
  return order;
}

// A host name as the server stores it: in lower case, and without a dot at its end.
json canonical_domain(const json& domain) {
  if (!domain.is_string()) return domain;
  std::string name = lower_case(domain.get<std::string>());
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool is_same(const Field& field, const json& wanted, const json& there) {
  if (field.order != "custom_domain") return wanted == there;
  return canonical_domain(wanted) == canonical_domain(there);
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
  for (const Field& field : planned_fields())
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
               .body = json::object(),
               .domain = live.value("custom_domain", json())};
  for (const Field& field : planned_fields()) {
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

namespace {

// Whether this plan's deployment gives up a domain that another plan wants.
bool makes_room(const Plan& plan, const std::vector<Plan>& plans) {
  const auto wanted = [](const Plan& each) {
    return canonical_domain(each.body.value("custom_domain", json()));
  };
  if (plan.kind != Plan::Kind::patch || !plan.domain.is_string() ||
      !plan.body.contains("custom_domain"))
    return false;
  return std::ranges::any_of(plans, [&](const Plan& other) {
    return &other != &plan && wanted(other) == canonical_domain(plan.domain);
  });
}

}  // namespace

std::vector<Step> steps_of(const std::vector<Plan>& plans) {
  std::vector<Step> steps;
  for (size_t i = 0; i < plans.size(); ++i)
    if (makes_room(plans[i], plans))
      steps.push_back(
          {.plan = i,
           .releases_domain = true,
           .operation = {{"id", plans[i].id}, {"change", {{"custom_domain", nullptr}}}}});
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].kind == Plan::Kind::create)
      steps.push_back({.plan = i, .operation = {{"create", plans[i].body}}});
    if (plans[i].kind == Plan::Kind::patch)
      steps.push_back({.plan = i, .operation = {{"id", plans[i].id}, {"change", plans[i].body}}});
  }
  return steps;
}

void learn(std::vector<Plan>& plans, const std::vector<Step>& steps, const json& outcomes) {
  std::vector<std::set<std::string>> fields(plans.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Plan& plan = plans[steps[i].plan];
    for (const json& field : outcomes.at(i).at("fields"))
      fields[steps[i].plan].insert(field.get<std::string>());
    plan.points += outcomes.at(i).at("points").get<std::int64_t>();
    if (const json containers = outcomes.at(i).value("containers", json()); containers.is_number())
      plan.containers = containers.get<int>();
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    Plan& plan = plans[i];
    if (plan.kind == Plan::Kind::create)
      // The server stores no value for these variables, such as PORT, so the plan doesn't show
      // them.
      std::erase_if(plan.changes, [&](const Change& each) {
        return each.field.starts_with("env_vars.") && !fields[i].contains(each.field);
      });
    if (plan.kind != Plan::Kind::patch) continue;
    std::erase_if(plan.changes,
                  [&](const Change& each) { return !fields[i].contains(each.field); });
    for (const std::string& field : plan.unseen)
      if (fields[i].contains(field)) plan.changes.push_back({field, "(set)", "(another value)"});
    plan.unseen.clear();
    if (plan.changes.empty()) plan.kind = Plan::Kind::nothing;
  }
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
  if (plan.points > 0) {
    text += "    costs " + std::to_string(plan.points) + " points now";
    if (plan.containers > 1) text += ", with " + std::to_string(plan.containers) + " containers";
    text += "\n";
  }
  if (plan.points < 0) text += "    gives back " + std::to_string(-plan.points) + " points\n";
  return text;
}

}  // namespace berth::cli
