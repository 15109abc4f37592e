#include "controller/domain/deployments/custom_domains/custom_domains.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/deployments/custom_domains/custom_domain_rows.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "controller/domain/deployments/custom_domains/name_history.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/audit.h"

namespace berth::custom_domains {
namespace {

std::optional<Claim> holder_of(db::Tx& tx, const std::string& domain) {
  static const std::string sql = select_claims + R"(WHERE c.domain = $1 AND c.released_at IS NULL)";
  return first(tx.query(sql, domain));
}

bool gives_way(const Claim& claim, const Claimant& to, Instant now) {
  return claim.owner_id != to.owner_id && claim.refuted_since &&
         *claim.refuted_since + refuted_claim_holds <= now && claim.checked_at &&
         *claim.checked_at + refutation_is_fresh > now;
}

[[noreturn]] void refuse(const std::string& domain) {
  throw Error(Code::domain_taken, "another deployment has the domain " + domain);
}

std::optional<TxtReason> txt_reason(db::Tx& tx, const Claimant& claimant, const std::string& domain,
                                    const std::string& data_key) {
  using name_history::Kind;
  const auto was_anothers = [&](Kind kind, const std::string& name) {
    return name_history::was_anothers(tx, kind, name, claimant.owner_id, data_key);
  };
  if (domain_names::is_apex(domain)) return TxtReason::apex;
  if (was_anothers(Kind::domain, domain)) return TxtReason::domain_used_before;
  if (was_anothers(Kind::subdomain, deployments::find(tx, claimant.deployment_id)->name))
    return TxtReason::name_used_before;
  return std::nullopt;
}

void note(db::Tx& tx, const std::string& actor, std::string_view action, const Claim& claim) {
  audit::record(tx, actor, action, claim.deployment_id,
                nlohmann::json{{"domain", claim.domain}}.dump());
}

void displace(db::Tx& tx, const Claim& old, const Claimant& by) {
  const int changed = tx.execute(
      R"(
      UPDATE custom_domains
      SET released_at = $2, state = 'failed', reason = 'domain_taken', message = $3
      WHERE id = $1 AND released_at IS NULL AND refuted_since = $4)",
      old.id, tx.now(),
      "the DNS didn't point to the platform for a week, and another operator claimed the domain",
      old.refuted_since);
  if (changed == 0) throw db::Overtaken("the domain was released, or its DNS was found right");
  log_state(tx, *find(tx, old.id));
  note(tx, by.owner_id, "domain.displace", old);
  tx.notify(db::Topic::custom_domain, old.deployment_id);
}

Claim insert(db::Tx& tx, const Claimant& claimant, const std::string& domain,
             const std::string& data_key) {
  const std::string id = new_uuid(tx.now());
  const auto reason = txt_reason(tx, claimant, domain, data_key);
  tx.execute(
      R"(
      INSERT INTO custom_domains
        (id, deployment_id, app_id, owner_id, domain, is_apex, txt_reason,
         claimed_at, asked_at, next_check_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $8))",
      id, claimant.deployment_id, claimant.app_id, claimant.owner_id, domain,
      domain_names::is_apex(domain), to_string(reason), tx.now());
  name_history::remember(tx, name_history::Kind::domain, domain, claimant.owner_id, data_key);
  const Claim made = *find(tx, id);
  note(tx, claimant.owner_id, "domain.claim", made);
  return made;
}

Claim ask_again(db::Tx& tx, const Claim& claim) {
  tx.require_change(R"(
      UPDATE custom_domains
      SET generation = generation + 1, asked_at = $2, next_check_at = $2
      WHERE id = $1 AND released_at IS NULL)",
                    claim.id, tx.now());
  return *find(tx, claim.id);
}

bool is_ipv6(const std::string& address) { return address.contains(':'); }

}  // namespace

std::string target_of(const Claim& claim, const std::string& apps_domain) {
  return claim.name + "." + apps_domain;
}

std::string challenge_name(const Claim& claim) { return "_berth-challenge." + claim.domain; }
std::string challenge_value(const Claim& claim) { return "berth=" + claim.deployment_id; }

std::vector<Record> records(const Claim& claim, const std::string& apps_domain) {
  std::vector<Record> result = {{.type = claim.is_apex ? "ALIAS" : "CNAME",
                                 .name = claim.domain,
                                 .value = target_of(claim, apps_domain)}};
  if (claim.is_apex)
    for (const std::string& address : claim.addresses)
      result.push_back(
          {.type = is_ipv6(address) ? "AAAA" : "A", .name = claim.domain, .value = address});
  if (claim.needs_txt())
    result.push_back(
        {.type = "TXT", .name = challenge_name(claim), .value = challenge_value(claim)});
  return result;
}

void refuse_taken(db::Tx& tx, const Claimant& claimant, const std::string& domain) {
  const auto holder = holder_of(tx, domain);
  if (holder && holder->deployment_id != claimant.deployment_id &&
      !gives_way(*holder, claimant, tx.now()))
    refuse(domain);
}

Claim claim(db::Tx& tx, const Claimant& claimant, const std::string& domain,
            const std::string& data_key) {
  refuse_taken(tx, claimant, domain);
  tx.notify(db::Topic::custom_domain, claimant.deployment_id);
  const auto own = living(tx, claimant.deployment_id);
  if (own && own->domain == domain) return ask_again(tx, *own);
  release(tx, claimant.deployment_id);
  if (const auto holder = holder_of(tx, domain)) displace(tx, *holder, claimant);
  return insert(tx, claimant, domain, data_key);
}

void release(db::Tx& tx, const std::string& deployment_id) {
  const auto own = living(tx, deployment_id);
  if (!own) return;
  tx.require_change(R"(
      UPDATE custom_domains
      SET released_at = $2
      WHERE id = $1 AND released_at IS NULL)",
                    own->id, tx.now());
  note(tx, own->owner_id, "domain.release", *own);
  tx.notify(db::Topic::custom_domain, deployment_id);
}

std::optional<Claim> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_claims + R"(WHERE c.id = $1)";
  return first(tx.query(sql, id));
}

std::optional<Claim> living(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql =
      select_claims + R"(WHERE c.deployment_id = $1 AND c.released_at IS NULL)";
  return first(tx.query(sql, deployment_id));
}

std::optional<Claim> newest(db::Tx& tx, const std::string& deployment_id) {
  static const std::string displaced = select_claims + R"(
      WHERE c.deployment_id = $1 AND c.reason = 'domain_taken'
        AND c.domain = d.custom_domain AND d.status <> 'destroyed'
      ORDER BY c.claimed_at DESC, c.released_at DESC, c.id DESC
      LIMIT 1)";
  if (auto own = living(tx, deployment_id)) return own;
  return first(tx.query(displaced, deployment_id));
}

std::vector<Claim> leaving(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_claims + R"(
      WHERE c.deployment_id = $1 AND c.released_at IS NOT NULL AND c.removed_at IS NULL
      ORDER BY c.released_at)";
  return all(tx.query(sql, deployment_id));
}

std::vector<std::string> deployments_with_claims(db::Tx& tx) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT deployment_id
      FROM custom_domains
      WHERE released_at IS NULL
      UNION ALL
      SELECT deployment_id
      FROM custom_domains
      WHERE released_at IS NOT NULL AND removed_at IS NULL)");
  while (rows.next()) ids.push_back(rows.text("deployment_id"));
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

void mark_removed(db::Tx& tx, const std::string& id) {
  const int changed = tx.execute(R"(
      UPDATE custom_domains
      SET removed_at = $2
      WHERE id = $1 AND released_at IS NOT NULL AND removed_at IS NULL)",
                                 id, tx.now());
  if (changed == 0) return;
  const auto gone = find(tx, id);
  if (const auto next = holder_of(tx, gone->domain))
    tx.notify(db::Topic::custom_domain, next->deployment_id);
}

bool domain_is_held(db::Tx& tx, const Claim& claim) {
  return tx.number(R"(
      SELECT 1
      FROM custom_domains
      WHERE domain = $1 AND id <> $2 AND released_at IS NOT NULL AND removed_at IS NULL
      LIMIT 1)",
                   claim.domain, claim.id) != 0;
}

}  // namespace berth::custom_domains
