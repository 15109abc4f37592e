// What the custom domain loop records about a claim.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/text.h"
#include "controller/domain/deployments/custom_domains/custom_domain_rows.h"

namespace berth::custom_domains {
namespace {

// Returns the claim if it still has the generation that was acted on.
std::optional<Claim> current(db::Tx& tx, const std::string& id, std::int64_t generation) {
  auto claim = find(tx, id);
  if (!claim || claim->released_at || claim->generation != generation) return std::nullopt;
  return claim;
}

bool says_the_same(const Claim& a, const Claim& b) {
  return a.state == b.state && a.reason == b.reason && a.message == b.message;
}

// Writes what the loop may change, and an entry to the deployment's log if state or reason changed.
Claim store(db::Tx& tx, const Claim& before, Claim claim) {
  if (claim.message) claim.message = cut(*claim.message, max_message_length);
  tx.require_change(R"(
      UPDATE custom_domains
      SET state = $2, reason = $3, message = $4, addresses = $5, failures = $6,
          checked_at = $7, next_check_at = $8, proven_at = $9, refuted_since = $10,
          expires_at = $11, renews_at = $12
      WHERE id = $1 AND generation = $13 AND state = $14 AND released_at IS NULL)",
                    claim.id, to_string(claim.state), to_string(claim.reason), claim.message,
                    nlohmann::json(claim.addresses).dump(), claim.failures, claim.checked_at,
                    claim.next_check_at, claim.proven_at, claim.refuted_since, claim.expires_at,
                    claim.renews_at, before.generation, to_string(before.state));
  if (claim.state != before.state || (claim.reason && claim.reason != before.reason))
    log_state(tx, claim);
  return claim;
}

bool renewal_is_near(const Claim& claim, Instant now) {
  return claim.renews_at && now >= *claim.renews_at - renewal_guard;
}

Duration waiting_interval(const Claim& claim, Instant now) {
  const Instant since = std::max(claim.asked_at, claim.refuted_since.value_or(claim.asked_at));
  for (const Pace& pace : paces)
    if (now - since < pace.age) return pace.interval;
  return slowest_pace;
}

Duration retry_interval(int failures) {
  Duration interval = first_retry;
  for (int i = 1; i < failures && interval < slowest_retry; ++i) interval *= 2;
  return std::min(interval, slowest_retry);
}

// An active claim is checked once a day, and shortly before its renewal.
Instant next_look_at_active(const Claim& claim, Instant now) {
  Instant next = now + (claim.reason ? doubtful_pace : active_pace);
  if (!claim.renews_at) return next;
  const Instant guard = *claim.renews_at - renewal_guard;
  return guard > now ? std::min(next, guard) : std::min(next, now + doubtful_pace);
}

Instant next_look(const Claim& claim, Instant now) {
  switch (claim.state) {
    case State::issuing:
      return now + issuing_pace;
    case State::active:
      return next_look_at_active(claim, now);
    case State::waiting_for_dns:
    case State::failed:
      break;
  }
  return now + waiting_interval(claim, now);
}

void note_evidence(Claim& claim, const Check& check, Instant now) {
  if (check.outcome != Outcome::impossible) claim.checked_at = now;
  if (!check.addresses.empty()) claim.addresses = check.addresses;
  claim.proven_at.reset();
  if (check.outcome == Outcome::proven) {
    claim.proven_at = now;
    claim.refuted_since.reset();
  } else if (check.outcome == Outcome::refuted && !claim.refuted_since) {
    claim.refuted_since = now;
  }
}

bool is_of_dns(std::optional<Reason> reason) {
  return reason == Reason::dns_not_pointing || reason == Reason::txt_missing ||
         reason == Reason::dns_unreachable;
}

// Whether, after this check, the claim has to wait for the DNS or for an issuer.
bool has_to_wait(const Claim& claim, const Check& check, Instant now) {
  if (check.outcome == Outcome::proven) return false;
  switch (claim.state) {
    case State::issuing:
      return check.outcome != Outcome::unknown;
    case State::active:
      return renewal_is_near(claim, now);
    case State::waiting_for_dns:
    case State::failed:
      break;
  }
  return true;
}

certificate_orders::Purchase purchase_of(const Claim& claim) {
  return {.owner_id = claim.owner_id, .app_id = claim.app_id, .domain = claim.domain};
}

Instant renewal_of(const Certificate& certificate, Instant now) {
  return certificate.renews_at.value_or(now + (certificate.expires_at - now) * 2 / 3);
}

}  // namespace

std::vector<Claim> due(db::Tx& tx, int limit) {
  static const std::string sql = select_claims + R"(
      WHERE c.released_at IS NULL AND c.next_check_at <= $1
      ORDER BY c.next_check_at
      LIMIT $2)";
  return all(tx.query(sql, tx.now(), limit));
}

std::optional<Instant> next_due(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT next_check_at
      FROM custom_domains
      WHERE released_at IS NULL
      ORDER BY next_check_at
      LIMIT 1)");
  return rows.next() ? std::optional(rows.instant("next_check_at")) : std::nullopt;
}

std::optional<Claim> record_check(db::Tx& tx, const std::string& id, std::int64_t generation,
                                  const Check& check) {
  const auto before = current(tx, id, generation);
  if (!before) return std::nullopt;
  Claim claim = *before;
  note_evidence(claim, check, tx.now());
  const bool proven = check.outcome == Outcome::proven;
  if (has_to_wait(claim, check, tx.now()))
    claim.state = check.outcome == Outcome::impossible ? State::failed : State::waiting_for_dns;
  const bool unclear = claim.state == State::issuing && !proven;
  if (proven ? is_of_dns(claim.reason) : !unclear) {
    claim.reason = proven ? std::nullopt : check.reason;
    claim.message = proven ? std::nullopt : check.message;
  }
  claim.next_check_at = next_look(claim, tx.now());
  return store(tx, *before, std::move(claim));
}

std::optional<Claim> begin_issuing(db::Tx& tx, const std::string& id, std::int64_t generation) {
  const auto before = current(tx, id, generation);
  if (!before || before->state == State::issuing || before->state == State::active)
    return std::nullopt;
  if (!before->proven_at || tx.now() - *before->proven_at > proof_holds) return std::nullopt;
  Claim claim = *before;
  if (const auto refusal = certificate_orders::take(tx, purchase_of(claim))) {
    claim.state = State::failed;
    claim.reason = Reason::order_budget;
    claim.message = refusal->message;
    claim.next_check_at = refusal->again_at;
  } else {
    claim.state = State::issuing;
    claim.reason.reset();
    claim.message.reset();
    claim.next_check_at = tx.now() + issuing_pace;
  }
  return store(tx, *before, std::move(claim));
}

bool mark_active(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const Certificate& certificate) {
  const auto before = current(tx, id, generation);
  if (!before || (before->state != State::issuing && before->state != State::active)) return false;
  Claim claim = *before;
  claim.expires_at = certificate.expires_at;
  claim.renews_at = renewal_of(certificate, tx.now());
  const bool is_new = before->expires_at != claim.expires_at;
  if (before->state == State::active && !is_new) {
    const bool same_renewal = !certificate.renews_at || before->renews_at == certificate.renews_at;
    if (same_renewal) return false;
  }
  if (before->state == State::issuing)
    certificate_orders::note_result(tx, claim.domain, certificate_orders::Result::issued);
  else if (is_new)
    certificate_orders::note_renewal(tx, purchase_of(claim));
  claim.state = State::active;
  claim.failures = 0;
  if (!is_of_dns(claim.reason)) {
    claim.reason.reset();
    claim.message.reset();
  }
  claim.next_check_at = next_look(claim, tx.now());
  store(tx, *before, std::move(claim));
  return true;
}

bool mark_failed(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const std::string& message) {
  const auto before = current(tx, id, generation);
  if (!before || (before->state != State::issuing && before->state != State::active)) return false;
  Claim claim = *before;
  claim.reason = Reason::certificate_failed;
  claim.message = cut(message, max_message_length);
  const bool still_serves =
      claim.state == State::active && claim.expires_at && *claim.expires_at > tx.now();
  if (still_serves && says_the_same(claim, *before)) return false;
  if (!still_serves) {
    certificate_orders::note_result(tx, claim.domain, certificate_orders::Result::failed);
    claim.state = State::failed;
    ++claim.failures;
    claim.next_check_at = tx.now() + retry_interval(claim.failures);
  }
  store(tx, *before, std::move(claim));
  return true;
}

}  // namespace berth::custom_domains
