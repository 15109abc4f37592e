// Deploy tiers, which operators choose from and administrators change.
#include "controller/domain/deployments/tiers.h"

#include <algorithm>
#include <array>

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/metering/prices.h"
#include "controller/domain/deployments/metering/usage.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

using tiers::Tier;

json encode(const Tier& tier) {
  return {{"id", tier.id},
          {"name", tier.name},
          {"slug", tier.slug},
          {"description", tier.description},
          {"payment_method", tier.payment_method},
          {"monthly_cost_points", or_null(tier.monthly_cost_points)},
          {"monthly_cost_sats", or_null(tier.monthly_cost_sats)},
          {"memory_limit_mb", tier.memory_limit_mb},
          {"cpu_limit_millicores", tier.cpu_limit_millicores},
          {"custom_domain_allowed", tier.custom_domain_allowed},
          {"monthly_stipend_points", tier.monthly_stipend_points},
          {"ad_reach_multiplier", tier.ad_reach_multiplier},
          {"auto_approve", tier.auto_approve},
          {"runtime_class", or_null(tier.confinement.runtime_class)},
          {"user_namespaces", or_null(tier.confinement.user_namespaces)},
          {"smtp", tier.confinement.smtp},
          {"bandwidth", or_null(tier.confinement.bandwidth)},
          {"points_per_hour", or_null(tier.points_per_hour)},
          {"build_points_per_minute", tier.build_points_per_minute},
          {"max_replicas", tier.max_replicas},
          {"exec_allowed", tier.exec_allowed},
          {"limits",
           {{"memory_mb", tier.memory_limit_mb},
            {"cpus", tier.cpu_limit_millicores / 1000.0},
            {"max_deployments", or_null(tier.max_deployments)}}}};
}

json encode_all(db::Tx& tx) {
  json list = json::array();
  for (const Tier& tier : tiers::list(tx)) list.push_back(encode(tier));
  return {{"tiers", std::move(list)}};
}

// Sets the fields of `tier` that a request may set and its body has.
void decode_into(Tier& tier, const json& body) {
  set(tier.name, body, "name");
  set(tier.description, body, "description");
  set(tier.monthly_cost_points, body, "monthly_cost_points");
  set(tier.monthly_cost_sats, body, "monthly_cost_sats");
  set(tier.memory_limit_mb, body, "memory_limit_mb");
  set(tier.cpu_limit_millicores, body, "cpu_limit_millicores");
  set(tier.max_deployments, body, "max_deployments");
  set(tier.custom_domain_allowed, body, "custom_domain_allowed");
  set(tier.auto_approve, body, "auto_approve");
  set(tier.monthly_stipend_points, body, "monthly_stipend_points");
  set(tier.ad_reach_multiplier, body, "ad_reach_multiplier");
  set(tier.confinement.runtime_class, body, "runtime_class");
  set(tier.confinement.user_namespaces, body, "user_namespaces");
  set(tier.confinement.smtp, body, "smtp");
  set(tier.confinement.bandwidth, body, "bandwidth");
  set(tier.points_per_hour, body, "points_per_hour");
  set(tier.build_points_per_minute, body, "build_points_per_minute");
  set(tier.max_replicas, body, "max_replicas");
  set(tier.exec_allowed, body, "exec_allowed");
}

// The image of the sample app on the simulated cluster, which has it without a registry.
constexpr const char* simulated_sample = "docker.io/library/hello:1";

// What a form has to know about what can be deployed here.
Reply list_tiers(db::Tx& tx, const Call&, const Services& services) {
  const deployments::Rules& rules = services.rules.deployments;
  json body = encode_all(tx);
  body["registries"] = rules.registries;
  body["address"] = services.cluster.url_of("{name}." + rules.apps_domain);
  body["custom_domains"] = services.cluster.has_issuer;
  const bool is_simulated = services.cluster.state() == KubernetesState::simulated;
  body["sample"] = {{"image", is_simulated ? json(simulated_sample) : json()},
                    {"is_built", !is_simulated && rules.builds_images}};
  return {.body = std::move(body)};
}

Reply internal_tiers(db::Tx& tx, const Call&, const Services&) { return {.body = encode_all(tx)}; }

Reply create_tier(db::Tx& tx, const Call& call, const Services&) {
  Tier wanted;
  decode_into(wanted, call.body);
  set(wanted.slug, call.body, "slug");
  set(wanted.payment_method, call.body, "payment_method");
  const Tier tier = tiers::create(tx, wanted);
  audit::record(tx, call.admin, "tier.create", tier.id, call.body.dump());
  return {.status = 201, .body = {{"tier", encode(tier)}}};
}

// What an admin with the role `finance` may change of a tier.
void require_only_prices(const json& body) {
  constexpr std::array<std::string_view, 4> prices = {"monthly_cost_points", "monthly_cost_sats",
                                                      "points_per_hour", "build_points_per_minute"};
  for (const auto& [field, value] : body.items())
    if (std::ranges::find(prices, field) == prices.end())
      throw Error(Code::forbidden, field +
                                       " needs the role admin; the role finance may only change "
                                       "prices");
}

Reply change_tier(db::Tx& tx, const Call& call, const Services&) {
  auto tier = tiers::find(tx, call.id());
  if (!tier) throw Error(Code::tier_not_found, "there is no such tier");
  if (call.admin_role == accounts::AdminRole::finance) require_only_prices(call.body);
  decode_into(*tier, call.body);
  const Tier changed = tiers::update(tx, *tier);
  audit::record(tx, call.admin, "tier.change", tier->id, call.body.dump());
  return {.body = {{"tier", encode(changed)}}};
}

Reply preview_tier_price(db::Tx& tx, const Call& call, const Services&) {
  const auto tier = tiers::find(tx, call.id());
  if (!tier) throw Error(Code::tier_not_found, "there is no such tier");
  const auto wanted = call.number("points_per_hour");
  const auto effect = metering::effect_of(tx, tier->id, wanted);
  const auto found = metering::short_apps(tx, tier->id, wanted.value_or(0));
  json apps = json::array();
  for (const metering::ShortApp& app : found.first)
    apps.push_back({{"app_id", app.app_id},
                    {"app_name", app.app_name},
                    {"balance", app.balance},
                    {"points_a_day", app.points_a_day}});
  constexpr std::int64_t hours_of_day = 24;
  return {.body = {{"tier", tier->slug},
                   {"points_per_hour", {{"now", or_null(effect.today)}, {"then", or_null(wanted)}}},
                   {"applies_from", to_iso8601(effect.from)},
                   {"deployments", effect.deployments},
                   {"apps", effect.apps},
                   {"points_a_day",
                    {{"now", effect.points_per_hour_before * hours_of_day},
                     {"then", effect.points_per_hour_after * hours_of_day}}},
                   {"apps_short_of_points", found.count},
                   {"short_of_points", std::move(apps)}}};
}

constexpr Param preview_query[] = {
    {.name = "points_per_hour",
     .description = "The new price of an hour in points. Without it the tier has no price by the "
                    "hour any more.",
     .example = "3",
     .kind = Kind::integer,
     .least = 1,
     .most = metering::max_points_per_hour}};

constexpr Access deploy =
    keeping_to_deployments(oauth_token({Scope::deploy_read}, Access::ForApp::none));

constexpr Placeholder tier_in_path = {"TierId", "The id of the tier.",
                                      "01936f5e-7c1a-7000-8000-000000000004"};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/tiers",
     .name = "listTiers",
     .tag = "Deployments",
     .summary = "List the deploy tiers",
     .text = "Lists all tiers with their prices and limits, and what else a form for a new "
             "deployment has to know: the allowed registries, the form of addresses, whether "
             "custom domains can be served, and whether there is a sample.",
     .guards = {deploy, deploy_reads},
     .answer = {200, "TierList"},
     .served_by = {"berth tiers", "/console/new"},
     .run = ReadHandler{list_tiers}},
    {.request = "GET /api/internal/deploy/tiers",
     .name = "internalListTiers",
     .tag = "Internal",
     .summary = "List the deploy tiers",
     .text = "Lists all tiers with their prices and limits.",
     .guards = every_admin,
     .answer = {200, "TierList"},
     .served_by = {"berth admin tiers list", "/console/admin"},
     .run = ReadHandler{internal_tiers}},
    {.request = "POST /api/internal/deploy/tiers",
     .name = "createTier",
     .tag = "Internal",
     .summary = "Add a deploy tier",
     .text = "Adds a tier, which operators can use at once if auto_approve is true, or after a "
             "promotion.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateTierRequest"},
     .answer = {201, "TierEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin tiers create", "/console/admin"},
     .run = WriteHandler{create_tier}},
    {.request = "PATCH /api/internal/deploy/tiers/{id}",
     .name = "changeTier",
     .tag = "Internal",
     .summary = "Change a deploy tier; a new price applies from each deployment's next period, "
                "new sizes to deployments that move to the tier",
     .text =
         "Changes the fields that are sent. Running deployments keep their size, and their "
         "price until the next period; a new price by the hour counts from the next midnight in "
         "UTC. A change of runtime_class, user_namespaces or bandwidth replaces the containers of "
         "all of the tier's deployments, each as in a rollout; a "
         "change of smtp holds at once. An admin with the role finance may change the "
         "four prices alone.",
     .guards = admins_and_finance,
     .stores = Stores::administration,
     .in_path = {&tier_in_path},
     .body = {"ChangeTierRequest"},
     .answer = {200, "TierEnvelope"},
     .errors = {Code::tier_not_found},
     .served_by = {"berth admin tiers update", "/console/admin"},
     .run = WriteHandler{change_tier}},
    {.request = "GET /api/internal/deploy/tiers/{id}/price-change",
     .name = "previewTierPrice",
     .tag = "Internal",
     .summary = "Show what another price by the hour would do; changes nothing",
     .text = "Returns how many deployments and apps a new price by the hour would meet, what they "
             "cost together on a day now and then, from when it would count, and which apps would "
             "run out of points within a day: their number, and the 100 that would be first.",
     .guards = every_admin,
     .in_path = {&tier_in_path},
     .query = preview_query,
     .answer = {200, "TierPriceChange"},
     .errors = {Code::tier_not_found, Code::validation_failed},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin tiers preview", "/console/admin"},
     .run = ReadHandler{preview_tier_price}},
};

}  // namespace

std::span<const Route> tiers_routes() { return rows; }

}  // namespace berth::api
