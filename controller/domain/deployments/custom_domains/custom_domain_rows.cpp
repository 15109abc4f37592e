#include "controller/domain/deployments/custom_domains/custom_domain_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::custom_domains {
namespace {

constexpr std::array<std::string_view, 4> state_names = {"waiting_for_dns", "issuing", "active",
                                                         "failed"};
constexpr std::array<std::string_view, 6> reason_names = {"dns_not_pointing",   "txt_missing",
                                                          "dns_unreachable",    "domain_taken",
                                                          "certificate_failed", "order_budget"};
constexpr std::array<std::string_view, 3> txt_reason_names = {"apex", "domain_used_before",
                                                              "name_used_before"};
static_assert(size_t(TxtReason::name_used_before) + 1 == txt_reason_names.size());
static_assert(size_t(State::failed) + 1 == state_names.size());
static_assert(size_t(Reason::order_budget) + 1 == reason_names.size());

TxtReason parse_txt_reason(const std::string& text) {
  const auto found = std::ranges::find(txt_reason_names, text);
  return TxtReason(found - txt_reason_names.begin());
}

Claim claim_of(const db::Query& row) {
  const auto txt_reason = row.text_or_null("txt_reason");
  const auto reason = row.text_or_null("reason");
  return {.id = row.text("id"),
          .deployment_id = row.text("deployment_id"),
          .app_id = row.text("app_id"),
          .owner_id = row.text("owner_id"),
          .domain = row.text("domain"),
          .name = row.text("name"),
          .is_apex = row.flag("is_apex"),
          .txt_reason = txt_reason ? std::optional(parse_txt_reason(*txt_reason)) : std::nullopt,
          .generation = row.integer("generation"),
          .state = parse_state(row.text("state")),
          .reason = reason ? parse_reason(*reason) : std::nullopt,
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

const char* log_status_of(State state) {
  if (state == State::active) return "succeeded";
  return state == State::failed ? "failed" : "info";
}

}  // namespace

std::string_view to_string(State state) { return state_names.at(size_t(state)); }
std::string_view to_string(TxtReason reason) { return txt_reason_names.at(size_t(reason)); }
std::string_view to_string(Reason reason) { return reason_names.at(size_t(reason)); }

State parse_state(std::string_view text) {
  for (size_t i = 0; i < state_names.size(); ++i)
    if (state_names[i] == text) return static_cast<State>(i);
  throw std::invalid_argument("not a state of a domain: " + std::string(text));
}

std::optional<Reason> parse_reason(std::string_view text) {
  for (size_t i = 0; i < reason_names.size(); ++i)
    if (reason_names[i] == text) return static_cast<Reason>(i);
  return std::nullopt;
}

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

std::optional<std::string> name_of(std::optional<Reason> reason) {
  return reason ? std::optional(std::string(to_string(*reason))) : std::nullopt;
}

void log_state(db::Tx& tx, const Claim& claim) {
  nlohmann::json details = {
      {"kind", "custom_domain"}, {"domain", claim.domain}, {"state", to_string(claim.state)}};
  if (claim.reason) details["reason"] = to_string(*claim.reason);
  if (claim.message) details["message"] = *claim.message;
  deployments::write_log(tx, claim.deployment_id,
                         {.action = "deploy",
                          .status = log_status_of(claim.state),
                          .initiated_by = {},
                          .details = details.dump()});
  details.erase("kind");
  details["deployment_id"] = claim.deployment_id;
  webhooks::emit(tx, claim.app_id, "deployment.domain", claim.deployment_id, details);
}

}  // namespace berth::custom_domains
