// Deploy tiers, which operators choose from and administrators change.
#include "controller/domain/deployments/tiers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/handlers.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

using tiers::Tier;

json encode(const Tier& tier) {
  return {{"id", tier.id},
          {"name", tier.name},
          {"slug", tier.slug},
          {"description", tier.description},
          {"payment_method", tiers::to_string(tier.payment_method)},
          {"monthly_cost_points", or_null(tier.monthly_cost_points)},
          {"monthly_cost_sats", or_null(tier.monthly_cost_sats)},
          {"memory_limit_mb", tier.memory_limit_mb},
          {"cpu_limit_millicores", tier.cpu_limit_millicores},
          {"custom_domain_allowed", tier.custom_domain_allowed},
          {"monthly_stipend_points", tier.monthly_stipend_points},
          {"ad_reach_multiplier", tier.ad_reach_multiplier},
          {"auto_approve", tier.auto_approve},
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
}

}  // namespace

Reply list_tiers(db::Tx& tx, const Call&, const Services&) { return {.body = encode_all(tx)}; }

Reply internal_tiers(db::Tx& tx, const Call&, const Services&) { return {.body = encode_all(tx)}; }

Reply create_tier(db::Tx& tx, const Call& call, const Services&) {
  Tier wanted;
  decode_into(wanted, call.body);
  set(wanted.slug, call.body, "slug");
  if (const auto method = text_or_nothing(call.body, "payment_method"))
    wanted.payment_method = tiers::parse_payment_method(*method);
  const Tier tier = tiers::create(tx, wanted);
  audit::record(tx, call.admin, "tier.create", tier.id, call.body.dump());
  return {.status = 201, .body = {{"tier", encode(tier)}}};
}

Reply change_tier(db::Tx& tx, const Call& call, const Services&) {
  auto tier = tiers::find(tx, call.id());
  if (!tier) throw Error(Code::tier_not_found, "there is no such tier");
  decode_into(*tier, call.body);
  const Tier changed = tiers::update(tx, *tier);
  audit::record(tx, call.admin, "tier.change", tier->id, call.body.dump());
  return {.body = {{"tier", encode(changed)}}};
}

}  // namespace berth::api
