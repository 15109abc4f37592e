// The key `tiers`: rows of the table that an empty database begins with. They keep the limits that
// POST /api/internal/deploy/tiers has for a new tier.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <type_traits>
#include <utility>

#include "berthd/config_keys.h"
#include "controller/base/processes.h"

namespace berth {
namespace {

using nlohmann::json;

constexpr std::array known_fields = std::to_array<std::string_view>(
    {"slug", "name", "description", "memory-mb", "cpu-millicores", "monthly-cost-points",
     "monthly-cost-sats", "max-deployments", "custom-domain", "auto-approve",
     "monthly-stipend-points", "ad-reach-multiplier", "runtime-class", "user-namespaces", "smtp",
     "bandwidth", "build-points-per-minute", "max-replicas", "exec"});

constexpr size_t max_name_bytes = 64;
constexpr std::int64_t max_memory_mb = 1'048'576;
constexpr std::int64_t max_cpu_millicores = 1'000'000;
constexpr std::int64_t max_sats = 2'100'000'000'000'000;  // 21 million bitcoins
constexpr std::int64_t max_max_deployments = 1'000'000;
constexpr std::int64_t max_bandwidth = 1'000'000;  // Mbit/s

// Whether `value` is what a field of type T holds: a text, true or false, or a whole number.
template <typename T>
bool is_a(const json& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value.is_string();
  else if constexpr (std::is_same_v<T, bool>)
    return value.is_boolean();
  else
    return value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
}

template <typename T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, std::string>)
    return "a text";
  else if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else
    return "a whole number";
}

// Nothing where the entry doesn't have the field, or it is null.
template <typename T>
std::optional<T> optional_field(const json& entry, const char* name) {
  const auto value = entry.find(name);
  if (value == entry.end() || value->is_null()) return std::nullopt;
  if (!is_a<T>(*value))
    want(std::string("a list of tiers whose field ") + name + " is " + type_name<T>());
  return value->get<T>();
}

template <typename T>
T field(const json& entry, const char* name) {
  const auto value = optional_field<T>(entry, name);
  if (!value) want(std::string("a list of tiers, each with the field ") + name);
  return *value;
}

std::optional<std::int64_t> optional_number(const json& entry, const char* name, std::int64_t least,
                                            std::int64_t most) {
  const auto value = optional_field<std::int64_t>(entry, name);
  if (value && (*value < least || *value > most))
    want(std::string("a list of tiers whose field ") + name + " is from " + std::to_string(least) +
         " to " + std::to_string(most));
  return value;
}

int number(const json& entry, const char* name, std::int64_t most) {
  const auto value = optional_number(entry, name, 1, most);
  if (!value) want(std::string("a list of tiers, each with the field ") + name);
  return int(*value);
}

std::string matching(std::string text, const char* name, const char* pattern,
                     const char* description) {
  if (text.size() > max_name_bytes || !std::regex_match(text, std::regex(pattern)))
    want(std::string("a list of tiers whose field ") + name + " is " + description);
  return text;
}

tiers::Confinement confinement_of(const json& entry) {
  const auto runtime_class = optional_field<std::string>(entry, "runtime-class");
  if (runtime_class && !is_object_name(*runtime_class))
    want("a list of tiers whose field runtime-class is the name of a RuntimeClass");
  const auto bandwidth = optional_number(entry, "bandwidth", 1, max_bandwidth);
  return {.runtime_class = runtime_class,
          .user_namespaces = optional_field<bool>(entry, "user-namespaces"),
          .smtp = optional_field<bool>(entry, "smtp").value_or(false),
          .bandwidth = bandwidth ? std::optional(int(*bandwidth)) : std::nullopt};
}

tiers::Tier tier_of(const json& entry) {
  for (const auto& [name, value] : entry.items())
    if (std::ranges::find(known_fields, name) == known_fields.end())
      want("a list of tiers with known fields; " + name + " isn't one");
  const auto sats = optional_number(entry, "monthly-cost-sats", 0, max_sats);
  const auto most = optional_number(entry, "max-deployments", 0, max_max_deployments);
  const std::string reach =
      optional_field<std::string>(entry, "ad-reach-multiplier").value_or("1.0");
  return {
      .id = {},
      .name = field<std::string>(entry, "name"),
      .slug = matching(field<std::string>(entry, "slug"), "slug", "[a-z0-9]([a-z0-9-]*[a-z0-9])?",
                       "lower-case letters, digits and hyphens"),
      .description = optional_field<std::string>(entry, "description").value_or(""),
      .payment_method = sats ? tiers::PaymentMethod::bitcoin : tiers::PaymentMethod::service_points,
      .monthly_cost_points = optional_number(entry, "monthly-cost-points", 0, ledger::max_points),
      .monthly_cost_sats = sats,
      .memory_limit_mb = number(entry, "memory-mb", max_memory_mb),
      .cpu_limit_millicores = number(entry, "cpu-millicores", max_cpu_millicores),
      .max_deployments = most ? std::optional(int(*most)) : std::nullopt,
      .custom_domain_allowed = optional_field<bool>(entry, "custom-domain").value_or(false),
      .auto_approve = optional_field<bool>(entry, "auto-approve").value_or(false),
      .monthly_stipend_points =
          optional_number(entry, "monthly-stipend-points", 0, ledger::max_points).value_or(0),
      .ad_reach_multiplier = matching(reach, "ad-reach-multiplier", "[0-9]{1,6}(\\.[0-9]{1,6})?",
                                      "a decimal in quotes, such as \"1.5\""),
      .confinement = confinement_of(entry),
      .build_points_per_minute =
          optional_number(entry, "build-points-per-minute", 0, tiers::max_build_points_per_minute)
              .value_or(0),
      .points_per_hour = {},
      .max_replicas = int(optional_number(entry, "max-replicas", 1, deployments::max_replicas)
                              .value_or(tiers::default_max_replicas)),
      .exec_allowed = optional_field<bool>(entry, "exec").value_or(false)};
}

}  // namespace

void take_tiers(Config& config, const std::string& text) {
  const json entries = structured_value(text);
  constexpr const char* wanted = "a list of tiers, as `berthd config` prints it";
  if (!entries.is_array() || entries.empty()) want(wanted);
  config.tiers.clear();
  std::set<std::string> slugs;
  for (const json& entry : entries) {
    if (!entry.is_object()) want(wanted);
    const tiers::Tier tier = tier_of(entry);
    if (tier.monthly_cost_points.has_value() == tier.monthly_cost_sats.has_value())
      want("a list of tiers with one of monthly-cost-points and monthly-cost-sats");
    if (!slugs.insert(tier.slug).second)
      want("a list of tiers with a slug for each; " + tier.slug + " occurs twice");
    config.tiers.push_back(tier);
  }
}

}  // namespace berth
