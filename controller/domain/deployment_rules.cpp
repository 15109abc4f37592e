#include "controller/domain/deployment_rules.h"

#include <libpsl.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "controller/base/error.h"
#include "controller/base/text.h"

namespace berth::deployments {
namespace {

constexpr size_t max_domain_length = 253;  // RFC 1035, section 2.3.4
constexpr size_t max_label_length = 63;

bool is_lower_or_digit(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Lower-case letters, digits and hyphens, with a letter or digit at both ends.
bool is_label(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most && is_lower_or_digit(text.front()) &&
         is_lower_or_digit(text.back()) && std::ranges::all_of(text, [](unsigned char c) {
           return is_lower_or_digit(c) || c == '-';
         });
}

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
          "is no variable name: letters, digits and '_', no digit first, at most 128 characters");
    else if (key.starts_with(reserved_env_prefix))
      wrong[field].push_back("is reserved: names that start with BERTH_ are the platform's own");
    if (value.find('\0') != std::string::npos)
      wrong[field].push_back("must not hold a NUL character");
  }
  if (bytes > max_env_bytes)
    wrong["env_vars"].push_back("must have at most 256 KiB of keys and values");
}

// A reference of the distribution project (distribution/reference, grammar): a registry, path
// components, then a tag, a digest, or both.
bool is_image(const std::string& image) {
  static const std::regex grammar(
      "[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)+"
      "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?");
  return std::regex_match(image, grammar);
}

bool is_below(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

void check_domain(const std::string& domain, const Rules& rules, Details& wrong) {
  auto& reasons = wrong["custom_domain"];
  bool labels = !domain.empty() && domain.size() <= max_domain_length &&
                domain.find('.') != std::string::npos;
  bool last_has_letter = false;
  for (size_t at = 0; labels && at <= domain.size();) {
    const size_t end = std::min(domain.find('.', at), domain.size());
    const std::string_view label = std::string_view(domain).substr(at, end - at);
    labels = is_label(label, max_label_length);
    last_has_letter = std::ranges::any_of(label, [](unsigned char c) { return std::isalpha(c); });
    at = end + 1;
  }
  if (!labels || !last_has_letter)
    reasons.push_back("must be a host name in lower case, without a wildcard, and no address");
  else if (is_below(domain, rules.apps_domain) || is_below(domain, rules.base_host))
    reasons.push_back("must not be a name of this platform");
  else if (psl_is_public_suffix(psl_builtin(), domain.c_str()) == 1)
    reasons.push_back("is a public suffix, under which others register their names");
  if (reasons.empty()) wrong.erase("custom_domain");
}

void check_health_path(const std::string& path, Details& wrong) {
  const bool plain =
      std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!path.starts_with('/') || path.size() > max_health_path_length || !plain)
    wrong["health_path"].push_back(
        "must start with '/' and have at most 256 printable ASCII characters");
}

bool is_allowed(const std::string& image, const std::vector<std::string>& registries) {
  return std::ranges::any_of(registries, [&](const std::string& prefix) {
    return image.size() > prefix.size() + 1 && image.starts_with(prefix) &&
           image[prefix.size()] == '/';
  });
}

}  // namespace

void check(const Order& order, const Rules& rules) {
  Details wrong;
  if (!is_label(order.name, max_name_length))
    wrong["name"].push_back(
        "must have 1 to 32 lower-case letters, digits and hyphens, with a letter or digit at both "
        "ends");
  if (order.port < 1 || order.port > 65535) wrong["port"].push_back("must be between 1 and 65535");
  const bool named = !order.image.empty() && order.image.size() <= max_image_length;
  // Whether the registry is allowed is asked first: its answer helps more than one about the
  // grammar.
  if (!named || (is_allowed(order.image, rules.registries) && !is_image(order.image)))
    wrong["image"].push_back("must be an image reference such as docker.io/library/nginx:1.27");
  if (order.tier.empty()) wrong["tier"].push_back("must be the slug of a tier");
  check_env(order.env, wrong);
  if (order.custom_domain) check_domain(*order.custom_domain, rules, wrong);
  if (order.health_path) check_health_path(*order.health_path, wrong);
  if (!wrong.empty())
    throw Error(Code::validation_failed, "the deployment can't be created like this", wrong);
  if (!is_allowed(order.image, rules.registries)) {
    std::string list;
    for (const std::string& prefix : rules.registries)
      list.append(list.empty() ? "" : ", ").append(prefix).append("/");
    throw Error(Code::unsupported_registry, "the image must start with one of: " + list,
                {{"image", {"must start with one of: " + list}}});
  }
}

}  // namespace berth::deployments
