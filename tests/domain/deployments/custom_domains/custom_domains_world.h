#pragma once

#include <set>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "tests/domain/world.h"

// Two operators with deployments that may have custom domains.
namespace berth::test {

struct DomainWorld : World {
  accounts::User ada = verified_user("ada"), eve = verified_user("eve");
  apps::App adas = approved_app(ada, {Scope::deploy_manage});
  apps::App eves = approved_app(eve, {Scope::deploy_manage});
  DomainWorld() {
    write([](db::Tx& tx) {
      tx.execute("UPDATE deploy_tiers SET custom_domain_allowed = 1 WHERE slug = 'wide'");
    });
  }

  deployments::Deployment deploy_at(const apps::App& app, const std::string& name,
                                    const std::string& domain) {
    deployments::Order wanted = order(name);
    wanted.custom_domain = domain;
    return deploy(app, wanted);
  }
  deployments::Deployment change(const apps::App& app, const std::string& id,
                                 const deployments::Change& wanted) {
    return write([&](db::Tx& tx) {
      return deployments::change(tx, actor(app), id, wanted, rules, keys.data);
    });
  }
  deployments::Deployment point(const apps::App& app, const std::string& id,
                                const std::optional<std::string>& domain) {
    deployments::Change wanted;
    wanted.custom_domain = domain;
    return change(app, id, wanted);
  }

  std::optional<custom_domains::Claim> living(const std::string& deployment_id) {
    return read([&](db::Tx& tx) { return custom_domains::living(tx, deployment_id); });
  }
  custom_domains::Claim claim_of(const std::string& deployment_id) {
    return living(deployment_id).value();
  }
  std::optional<custom_domains::Claim> check(
      const custom_domains::Claim& claim, custom_domains::Outcome outcome,
      custom_domains::Reason reason = custom_domains::Reason::dns_not_pointing) {
    const bool proven = outcome == custom_domains::Outcome::proven;
    return write([&](db::Tx& tx) {
      return custom_domains::record_check(
          tx, claim.id, claim.generation,
          {.outcome = outcome,
           .reason = proven ? std::nullopt : std::optional(reason),
           .message = proven ? std::nullopt : std::optional(std::string("no CNAME record")),
           .addresses = {}});
    });
  }
  std::optional<custom_domains::Claim> begin(const custom_domains::Claim& claim) {
    return write(
        [&](db::Tx& tx) { return custom_domains::begin_issuing(tx, claim.id, claim.generation); });
  }
  // Brings a claim to the state in which its domain is proven and its certificate is ordered.
  custom_domains::Claim issuing(const std::string& deployment_id) {
    check(claim_of(deployment_id), custom_domains::Outcome::proven);
    return begin(claim_of(deployment_id)).value();
  }
  bool activate(const custom_domains::Claim& claim, Duration lifetime) {
    return write([&](db::Tx& tx) {
      return custom_domains::mark_active(
          tx, claim.id, claim.generation,
          {.expires_at = tx.now() + lifetime, .renews_at = std::nullopt});
    });
  }
  bool fail(const custom_domains::Claim& claim, const std::string& message = "refused") {
    return write([&](db::Tx& tx) {
      return custom_domains::mark_failed(tx, claim.id, claim.generation, message);
    });
  }
  std::int64_t orders() {
    return read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM certificate_orders"); });
  }
};

}  // namespace berth::test
