#include "controller/domain/deployments/rules.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "controller/domain/deployments/process_rules.h"
#include "controller/domain/deployments/pushes.h"

namespace berth::deployments {
namespace {

constexpr const ContainerField& image_field = field_of(&ContainerSpec::image);

bool is_env_key(std::string_view key) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return !key.empty() && key.size() <= max_env_key_length && letter(key.front()) &&
         std::ranges::all_of(key, [&](unsigned char c) { return letter(c) || std::isdigit(c); });
}

constexpr const char* env_field = "env_vars";

void check_env(const std::map<std::string, std::string>& env, const std::string& whole,
               Details& wrong) {
  if (env.size() > max_env_keys) wrong[whole].push_back("must have at most 50 keys");
  size_t bytes = 0;
  for (const auto& [key, value] : env) {
    bytes += key.size() + value.size();
    const std::string field = whole + "." + cut(key, max_env_key_length);
    if (!is_env_key(key))
      wrong[field].push_back(
          "isn't a variable name: letters, digits and '_', not beginning with a digit, at most 128 "
          "characters");
    else if (key.starts_with(reserved_env_prefix))
      wrong[field].push_back("is reserved: names that begin with BERTH_ belong to the platform");
    if (value.find('\0') != std::string::npos)
      wrong[field].push_back("must not contain a NUL character");
  }
  if (bytes > max_env_bytes)
    wrong[whole].push_back("must not have more than 256 KiB of keys and values");
}

// An image reference by the grammar of the distribution project (distribution/reference): a
// registry, path components, and a tag, a digest, or both.
bool is_image(const std::string& image) {
  static const std::regex grammar(
      "[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)+"
      "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?");
  return std::regex_match(image, grammar);
}

void check_domain(const std::string& domain, const Rules& rules, Details& wrong) {
  const std::string reason = domain_names::refusal(domain, rules.apps_domain, rules.base_host);
  if (!reason.empty()) wrong["custom_domain"].push_back(reason);
}

// Whether the name is reserved, or is punycode for a text that reads like one that is.
bool is_reserved(const std::string& name, const ReservedNames& reserved) {
  const auto text = domain_names::unicode_of(name);
  return reserved.forbids_subdomain(name) || (text && reserved.forbids_name(*text));
}

void check_name(const std::string& name, const Rules& rules, Details& wrong) {
  if (auto why = refusal_of_name(name, rules)) wrong["name"].push_back(*std::move(why));
}

// The name of a label, or a value that isn't empty (kubernetes.io, "Labels and Selectors"). Keys
// have no prefix: on the cluster they get one of berth's own.
bool is_label_text(std::string_view text) {
  const auto alphanumeric = [](unsigned char c) { return c < 0x80 && std::isalnum(c); };
  return !text.empty() && text.size() <= max_label_length && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::ranges::all_of(text, [&](unsigned char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_label(const std::string& key, const std::string& value) {
  return is_label_text(key) && (value.empty() || is_label_text(value));
}

void check_labels(const Labels& labels, Details& wrong) {
  if (labels.size() > max_labels) wrong["labels"].push_back("must have at most 20 keys");
  for (const auto& [key, value] : labels)
    if (!is_label(key, value))
      wrong["labels." + cut(key, max_label_length)].push_back(
          "must have a key and a value of at most 63 letters, digits, '-', '_' and '.', with a "
          "letter or digit at both ends; the value may be empty");
}

// Whose images of localhost it is is asked later, because that is in the database.
bool is_allowed(const std::string& image, const Rules& rules) {
  if (rules.builds_images && builds::is_built(image)) return true;
  return std::ranges::any_of(rules.registries, [&](const std::string& prefix) {
    return image.size() > prefix.size() + 1 && image.starts_with(prefix) &&
           image[prefix.size()] == '/';
  });
}

bool is_path(const std::string& path) {
  return path.starts_with('/') &&
         std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// What a field has to be besides within its limits.
bool is_well_formed(const ContainerSpec& container, const ContainerField& field,
                    const Rules& rules) {
  if (&field == &field_of(&ContainerSpec::health_path))
    return container.health_path.empty() || is_path(container.health_path);
  if (&field == &field_of(&ContainerSpec::deploy_hours))
    return container.deploy_hours.empty() || pushes::is_hours(container.deploy_hours);
  // Whether the registry is allowed is checked first, because that answer helps more than one about
  // the grammar.
  return &field != &image_field || !is_allowed(container.image, rules) || is_image(container.image);
}

void check_field(const ContainerSpec& container, const ContainerField& field, const Rules& rules,
                 Details& wrong) {
  if (!is_within_limits(container, field) || !is_well_formed(container, field, rules))
    wrong[std::string(field.name)].emplace_back(field.must);
}

void check_registry(const std::string& image, const Rules& rules) {
  if (is_allowed(image, rules)) return;
  std::string list;
  for (const std::string& prefix : rules.registries)
    list.append(list.empty() ? "" : ", ").append(prefix).append("/");
  const std::string why =
      "must begin with one of: " + list + "; an admin can change this list with the key registries";
  throw Error(Code::unsupported_registry, "the image " + why, {{"image", {why}}});
}

}  // namespace

std::optional<std::string> refusal_of_name(const std::string& name, const Rules& rules) {
  if (name.size() > max_name_length || !is_host_label(name))
    return "must have 1 to 32 lower-case letters, digits and hyphens, with a letter or digit at "
           "both ends";
  if (domain_names::has_reserved_hyphens(name) && !domain_names::unicode_of(name))
    return "must not have hyphens as its third and fourth characters, unless it is valid punycode "
           "(xn--): no certificate is issued for it";
  if (is_reserved(name, rules.reserved_names))
    return "is reserved for the platform; choose another";
  return std::nullopt;
}

void check(const Order& order, const Rules& rules) {
  Details wrong;
  check_name(order.name, rules, wrong);
  for (const ContainerField& field : container_fields)
    check_field(order.container, field, rules, wrong);
  check_processes(order.container, wrong);
  if (order.tier.empty()) wrong["tier"].push_back("must be the slug of a tier");
  check_env(order.secrets.env, env_field, wrong);
  check_labels(order.labels, wrong);
  if (order.custom_domain) check_domain(*order.custom_domain, rules, wrong);
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the deployment are missing or wrong",
                wrong);
  check_registry(order.container.image, rules);
}

void check_variables(const std::map<std::string, std::string>& env, const std::string& field) {
  Details wrong;
  check_env(env, field, wrong);
  if (!wrong.empty()) throw Error(Code::validation_failed, "some variables are wrong", wrong);
}

void check(const Change& change, const Order& next, const Rules& rules) {
  Details wrong;
  for (const ContainerField* field : change.fields)
    check_field(change.container, *field, rules, wrong);
  if (!change.fields.empty()) check_processes(next.container, wrong);
  if (!change.env.empty()) check_env(next.secrets.env, env_field, wrong);
  if (change.labels) check_labels(*change.labels, wrong);
  if (const auto& domain = change.custom_domain; domain && *domain)
    check_domain(**domain, rules, wrong);
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the change are wrong", wrong);
  if (std::ranges::find(change.fields, &image_field) != change.fields.end())
    check_registry(change.container.image, rules);
}

void check_own_image(db::Tx& tx, const std::string& app_id, const std::string& image,
                     const Rules& rules) {
  if (rules.builds_images) builds::check_image(tx, app_id, image);
}

Label parse_label(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  const Label label = {.key = std::string(text.substr(0, equals)),
                       .value = std::string(text.substr(std::min(equals + 1, text.size())))};
  if (equals == text.size() || !is_label(label.key, label.value))
    throw invalid_field("label", "must be the key and the value of a label, as in stage=test");
  return label;
}

Order order_of(const Deployment& row, const Secrets& own) {
  return {.name = row.name,
          .tier = row.tier_slug,
          .custom_domain = row.custom_domain,
          .container = row.container,
          .secrets = own,
          .labels = row.labels};
}

void change_variables(Secrets& secrets,
                      const std::map<std::string, std::optional<std::string>>& changes) {
  for (const auto& [key, value] : changes) {
    const auto before = secrets.env.find(key);
    if (value && before != secrets.env.end() && before->second == *value) continue;
    secrets.env_set_at.erase(key);
    if (value)
      secrets.env[key] = *value;
    else
      secrets.env.erase(key);
  }
}

Order changed(Order order, const Change& change) {
  for (const ContainerField* field : change.fields)
    set_value(order.container, *field, value_of(change.container, *field));
  change_variables(order.secrets, change.env);
  if (change.registry_credentials)
    order.secrets.registry_credentials = *change.registry_credentials;
  if (change.custom_domain) order.custom_domain = *change.custom_domain;
  if (change.labels) order.labels = *change.labels;
  return order;
}

Differences differences(const Order& from, const Order& to) {
  Differences found;
  const auto replace = [&](const char* field, bool differs) {
    if (differs) found.container.emplace_back(field);
  };
  const auto keep = [&](const char* field, bool differs) {
    if (differs) found.other.emplace_back(field);
  };
  for (const ContainerField& field : container_fields)
    if (value_of(from.container, field) != value_of(to.container, field))
      (replaces_containers(from.container, to.container, field) ? found.container : found.other)
          .emplace_back(field.name);
  replace("env_vars", from.secrets.env != to.secrets.env);
  replace("registry_credentials",
          from.secrets.registry_credentials != to.secrets.registry_credentials);
  keep("custom_domain", from.custom_domain != to.custom_domain);
  keep("labels", from.labels != to.labels);
  return found;
}

namespace {

// How much of a value the log keeps of a difference, in bytes.
constexpr size_t max_described_value = 512;

nlohmann::json described(const nlohmann::json& value) {
  if (value.is_number() || value.is_null()) return value;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return cut(text, max_described_value);
}

}  // namespace

nlohmann::json described_variables(const Secrets& from, const Secrets& to) {
  nlohmann::json found = {{"field", "env_vars"},
                          {"added", nlohmann::json::array()},
                          {"changed", nlohmann::json::array()},
                          {"removed", nlohmann::json::array()}};
  for (const auto& [name, value] : to.env) {
    const auto before = from.env.find(name);
    if (before == from.env.end())
      found["added"].push_back(name);
    else if (before->second != value)
      found["changed"].push_back(name);
  }
  for (const auto& [name, value] : from.env)
    if (!to.env.contains(name)) found["removed"].push_back(name);
  return found;
}

nlohmann::json described_differences(const Order& from, const Order& to) {
  nlohmann::json all = nlohmann::json::array();
  for (const ContainerField& field : container_fields) {
    const nlohmann::json before = value_of(from.container, field);
    const nlohmann::json after = value_of(to.container, field);
    if (before != after)
      all.push_back({{"field", field.name}, {"from", described(before)}, {"to", described(after)}});
  }
  if (from.secrets.env != to.secrets.env)
    all.push_back(described_variables(from.secrets, to.secrets));
  if (from.secrets.registry_credentials != to.secrets.registry_credentials)
    all.push_back({{"field", "registry_credentials"}});
  if (from.custom_domain != to.custom_domain)
    all.push_back({{"field", "custom_domain"},
                   {"from", described(from.custom_domain ? nlohmann::json(*from.custom_domain)
                                                         : nlohmann::json())},
                   {"to", described(to.custom_domain ? nlohmann::json(*to.custom_domain)
                                                     : nlohmann::json())}});
  return all;
}

}  // namespace berth::deployments
