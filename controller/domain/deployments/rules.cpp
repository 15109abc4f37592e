#include "controller/domain/deployments/rules.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"

namespace berth::deployments {
namespace {

bool is_env_key(std::string_view key) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return !key.empty() && key.size() <= max_env_key_length && letter(key.front()) &&
         std::ranges::all_of(key, [&](unsigned char c) { return letter(c) || std::isdigit(c); });
}

void check_env(const std::map<std::string, std::string>& env, Details& wrong) {
  if (env.size() > max_env_keys) wrong["env_vars"].push_back("must have at most 50 keys");
  size_t bytes = 0;
  for (const auto& [key, value] : env) {
    bytes += key.size() + value.size();
    const std::string field = "env_vars." + cut(key, max_env_key_length);
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
    wrong["env_vars"].push_back("must not have more than 256 KiB of keys and values");
}

// An image reference by the grammar of the distribution project (distribution/reference): a
// registry, path components, and a tag, a digest, or both.
bool is_image(const std::string& image) {
  static const std::regex grammar(
      "[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)+"
      "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?");
  return std::regex_match(image, grammar);
}

void check_domain(const std::string& domain, const Rules& rules, Details& wrong) {
  const std::string reason = domain_names::refusal(domain, rules.apps_domain, rules.base_host);
  if (!reason.empty()) wrong["custom_domain"].push_back(reason);
}

void check_name(const std::string& name, const Rules& rules, Details& wrong) {
  if (!domain_names::is_label(name, max_name_length))
    wrong["name"].push_back(
        "must have 1 to 32 lower-case letters, digits and hyphens, with a letter or digit at both "
        "ends");
  else if (rules.reserved_names.forbids_subdomain(name))
    wrong["name"].push_back("is reserved for the platform; choose another");
}

void check_port(int port, Details& wrong) {
  if (port < 1 || port > 65535) wrong["port"].push_back("must be between 1 and 65535");
}

void check_health_path(const std::string& path, Details& wrong) {
  const bool plain =
      std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!path.starts_with('/') || path.size() > max_health_path_length || !plain)
    wrong["health_path"].push_back(
        "must begin with '/' and have at most 256 printable ASCII characters");
}

bool is_allowed(const std::string& image, const Rules& rules) {
  return std::ranges::any_of(rules.registries, [&](const std::string& prefix) {
    return image.size() > prefix.size() + 1 && image.starts_with(prefix) &&
           image[prefix.size()] == '/';
  });
}

void check_image(const std::string& image, const Rules& rules, Details& wrong) {
  const bool named = !image.empty() && image.size() <= max_image_length;
  // Whether the registry is allowed is checked first, because that answer helps more than one about
  // the grammar.
  if (!named || (is_allowed(image, rules) && !is_image(image)))
    wrong["image"].push_back("must be an image reference such as docker.io/library/nginx:1.27");
}

void check_registry(const std::string& image, const Rules& rules) {
  if (is_allowed(image, rules)) return;
  std::string list;
  for (const std::string& prefix : rules.registries)
    list.append(list.empty() ? "" : ", ").append(prefix).append("/");
  throw Error(Code::unsupported_registry, "the image must begin with one of: " + list,
              {{"image", {"must begin with one of: " + list}}});
}

}  // namespace

void check(const Order& order, const Rules& rules) {
  Details wrong;
  check_name(order.name, rules, wrong);
  check_port(order.port, wrong);
  check_image(order.image, rules, wrong);
  if (order.tier.empty()) wrong["tier"].push_back("must be the slug of a tier");
  check_env(order.env, wrong);
  if (order.custom_domain) check_domain(*order.custom_domain, rules, wrong);
  if (order.health_path) check_health_path(*order.health_path, wrong);
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the deployment are missing or wrong",
                wrong);
  check_registry(order.image, rules);
}

void check(const Change& change, const std::map<std::string, std::string>& env,
           const Rules& rules) {
  Details wrong;
  if (change.port) check_port(*change.port, wrong);
  if (change.image) check_image(*change.image, rules, wrong);
  if (!change.env.empty()) check_env(env, wrong);
  if (const auto& domain = change.custom_domain; domain && *domain)
    check_domain(**domain, rules, wrong);
  if (const auto& path = change.health_path; path && *path) check_health_path(**path, wrong);
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the change are wrong", wrong);
  if (change.image) check_registry(*change.image, rules);
}

}  // namespace berth::deployments
