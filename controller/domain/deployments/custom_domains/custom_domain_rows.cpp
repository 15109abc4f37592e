#include "controller/domain/deployments/custom_domains/custom_domain_rows.h"

#include <nlohmann/json.hpp>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::custom_domains {
namespace {

Claim claim_of(const db::Query& row) {
  return {.id = row.text("id"),
          .deployment_id = row.text("deployment_id"),
          .app_id = row.text("app_id"),
          .owner_id = row.text("owner_id"),
          .domain = row.text("domain"),
          .name = row.text("name"),
          .is_apex = row.flag("is_apex"),
          .txt_reason = db::enum_or_null<TxtReason>(row, "txt_reason"),
          .generation = row.integer("generation"),
          .state = db::enum_of<State>(row, "state"),
          .reason = db::enum_or_null<Reason>(row, "reason"),
          .message = row.text_or_null("message"),
          .addresses = nlohmann::json::parse(row.text("addresses")).get<std::vector<std::string>>(),
          .failures = int(row.integer("failures")),
          .claimed_at = row.instant("claimed_at"),
          .asked_at = row.instant("asked_at"),
          .checked_at = row.instant_or_null("checked_at"),
          .next_check_at = row.instant("next_check_at"),
          .proven_at = row.instant_or_null("proven_at"),
          .refuted_since = row.instant_or_null("refuted_since"),
          .expires_at = row.instant_or_null("expires_at"),
          .renews_at = row.instant_or_null("renews_at"),
          .released_at = row.instant_or_null("released_at")};
}

deployments::LogStatus log_status_of(State state) {
  using enum deployments::LogStatus;
  if (state == State::active) return succeeded;
  return state == State::failed ? failed : info;
}

}  // namespace

const std::string select_claims = R"(
    SELECT c.id, c.deployment_id, c.app_id, c.owner_id, c.domain, d.name, c.is_apex, c.txt_reason,
           c.generation, c.state, c.reason, c.message, c.addresses, c.failures,
           c.claimed_at, c.asked_at, c.checked_at, c.next_check_at, c.proven_at, c.refuted_since,
           c.expires_at, c.renews_at, c.released_at
    FROM custom_domains c
    JOIN deployments d ON d.id = c.deployment_id
)";

std::optional<Claim> first(db::Query rows) {
  return rows.next() ? std::optional(claim_of(rows)) : std::nullopt;
}

std::vector<Claim> all(db::Query rows) {
  std::vector<Claim> result;
  while (rows.next()) result.push_back(claim_of(rows));
  return result;
}

void log_state(db::Tx& tx, const Claim& claim) {
  nlohmann::json details = {
      {"kind", "custom_domain"}, {"domain", claim.domain}, {"state", to_string(claim.state)}};
  if (claim.reason) details["reason"] = to_string(*claim.reason);
  if (claim.message) details["message"] = *claim.message;
  deployments::write_log(tx, claim.deployment_id,
                         {.action = deployments::LogAction::deploy,
                          .status = log_status_of(claim.state),
                          .initiated_by = {},
                          .details = details.dump()});
  details.erase("kind");
  details["deployment_id"] = claim.deployment_id;
  webhooks::emit(tx, claim.app_id, "deployment.domain", claim.deployment_id, details);
}

}  // namespace berth::custom_domains
