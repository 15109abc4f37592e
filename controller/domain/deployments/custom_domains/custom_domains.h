#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"

// Custom domains: the claim of a deployment on a host name outside apps-domain, the results of
// checking its DNS records, and the state of its certificate. Each domain and each deployment has
// at most one live claim.
//
// Two writers share a row. The API claims and releases, and raises `generation` if the operator
// asks for another check. The custom domain loop records what it saw, together with the claim and
// generation that it acted on; a record for an older generation is dropped.
//
//   waiting_for_dns -> issuing -> active   by begin_issuing, after a check that was `proven`
//   issuing -> failed                      the issuer refused, or no order is left; the domain is
//                                          checked again at `next_check_at`
//   waiting_for_dns, issuing -> failed     the platform has no issuer of certificates
//   any -> waiting_for_dns                 the DNS records no longer point to the platform
namespace berth::custom_domains {

enum class State { waiting_for_dns, issuing, active, failed };
constexpr auto texts_of(State) {
  return EnumTexts<State::failed>{"waiting_for_dns", "issuing", "active", "failed"};
}

// Why a domain isn't served, or soon won't be. Published as a machine-readable reason.
enum class Reason {
  dns_not_pointing,    // a CNAME or address record is missing or wrong; `message` says which
  txt_missing,         // the TXT record is missing or wrong
  dns_unreachable,     // the name servers don't answer, or answer with an error
  domain_taken,        // the DNS contradicted the claim for long, and another owner took the domain
  certificate_failed,  // the issuer refused; `message` has its words
  order_budget,        // a limit on ordered certificates is reached, see certificate_orders.h
};
constexpr auto texts_of(Reason) {
  return EnumTexts<Reason::order_budget>{"dns_not_pointing",   "txt_missing",
                                         "dns_unreachable",    "domain_taken",
                                         "certificate_failed", "order_budget"};
}

// Why a claim needs the TXT record in addition to records that point to the platform.
enum class TxtReason {
  apex,  // a registered domain itself, which can't have a CNAME (RFC 1912, section 2.4)
  domain_used_before,  // another owner has claimed the domain before
  // Another owner had the deployment's name before, so a forgotten CNAME may point to it.
  name_used_before,
};
constexpr auto texts_of(TxtReason) {
  return EnumTexts<TxtReason::name_used_before>{"apex", "domain_used_before", "name_used_before"};
}

struct Claim {
  std::string id;
  std::string deployment_id;
  std::string app_id;
  std::string owner_id;
  std::string domain;    // lower case, without a dot at the end
  std::string name;      // the deployment's name; the DNS has to point to <name>.<apps-domain>
  bool is_apex = false;  // the domain itself is the registered one, such as example.com
  std::optional<TxtReason> txt_reason;
  std::int64_t generation = 1;
  State state = State::waiting_for_dns;
  std::optional<Reason> reason;
  std::optional<std::string> message;
  std::vector<std::string> addresses;  // the platform's ingress, as the newest check saw it
  int failures = 0;                    // number of consecutive refusals by the issuer
  Instant claimed_at;
  Instant asked_at;  // when it was claimed, or another check was asked for
  std::optional<Instant> checked_at;
  Instant next_check_at;
  std::optional<Instant> proven_at;  // the time of the newest check, if its outcome was proven
  // The first check with the outcome refuted since the last proven one.
  std::optional<Instant> refuted_since;
  std::optional<Instant> expires_at;  // when the certificate that is served expires
  std::optional<Instant> renews_at;
  std::optional<Instant> released_at;

  bool needs_txt() const { return txt_reason.has_value(); }
};

// ---- The records to set in the DNS -------------------------------------------------------------

struct Record {
  std::string type;  // CNAME, TXT, ALIAS, A or AAAA
  std::string name;
  std::string value;
  bool operator==(const Record&) const = default;
};
// Returns <name>.<apps-domain>, which the domain has to point to.
std::string target_of(const Claim& claim, const std::string& apps_domain);
// The TXT record `_berth-challenge.<domain>` with the value `berth=<deployment id>`, which proves
// that the operator controls the domain.
std::string challenge_name(const Claim& claim);
std::string challenge_value(const Claim& claim);
// Returns exactly the records that have to be set: a CNAME; for a registered domain itself, an
// ALIAS record (some providers call it ANAME or a flattened CNAME) or, if `addresses` are known,
// the A and AAAA records with the same effect; and a TXT record if `claim.txt_reason` is set.
std::vector<Record> records(const Claim& claim, const std::string& apps_domain);

// ---- For the API --------------------------------------------------------------------------------

// A claim that the DNS has contradicted for this long can be displaced by another owner's, so that
// nobody can hold domains that aren't theirs. Its last check must also be this recent, so that an
// outage of the platform takes no domain away.
inline constexpr Duration refuted_claim_holds = std::chrono::hours(7 * 24);
inline constexpr Duration refutation_is_fresh = std::chrono::hours(24);

struct Claimant {
  std::string deployment_id;  // empty if the deployment doesn't exist yet
  std::string app_id;
  std::string owner_id;
};
// Throws domain_taken if another deployment has a live claim that can't be displaced. `domain` must
// be normalised, and domain_names::refusal must accept it.
void refuse_taken(db::Tx& tx, const Claimant& claimant, const std::string& domain);
// Claims `domain` for the deployment, and releases its claim on another domain. If it already
// claims this domain, a new generation is begun and the domain is checked at once. Another
// deployment's claim that can be displaced is released, as failed with the reason domain_taken. The
// data key is for name_history. Throws domain_taken.
Claim claim(db::Tx& tx, const Claimant& claimant, const std::string& domain,
            const std::string& data_key);
// Releases the deployment's claim. Changes nothing if it has none.
void release(db::Tx& tx, const std::string& deployment_id);

// Returns the deployment's live claim, or nothing.
std::optional<Claim> living(db::Tx& tx, const std::string& deployment_id);
// Returns the live claim, or the one that was displaced: what GET …/domain shows.
std::optional<Claim> newest(db::Tx& tx, const std::string& deployment_id);

// ---- For the custom domain loop -----------------------------------------------------------------
// Each change that the API makes is announced with Topic::custom_domain and the deployment's id.

// Returns the live claims whose check is due, those that have waited longest first.
std::vector<Claim> due(db::Tx& tx, int limit);
// Returns when the next check is due, which may be in the past; nothing if there is no live claim.
std::optional<Instant> next_due(db::Tx& tx);
std::optional<Claim> find(db::Tx& tx, const std::string& id);

enum class Outcome {
  proven,   // all records are as they should be
  refuted,  // the DNS answered, and a record is missing or wrong
  unknown,  // no answer, or an error that says nothing about the domain
  // The platform can order no certificate, so the DNS wasn't asked.
  impossible,
};
struct Check {
  Outcome outcome = Outcome::unknown;
  std::optional<Reason> reason;  // empty if proven
  // Which record is missing or wrong, and what was found instead.
  std::optional<std::string> message;
  // The addresses of target_of(claim). If they weren't looked up, this is empty, and the known ones
  // stay.
  std::vector<std::string> addresses;
};
// Stores a check's time and result, decides when to check again, and returns the claim as it is
// afterwards. By the state before:
// - waiting_for_dns, failed: refuted or unknown -> waiting_for_dns, with the reason; proven -> the
//   same state, with proven_at, so that begin_issuing() can follow;
// - issuing: refuted -> waiting_for_dns; the caller withdraws the Certificate, so that nothing is
//   ordered;
// - active: stays active, with the reason, until shortly before the renewal (renewal_guard); from
//   then on refuted or unknown -> waiting_for_dns, and the caller withdraws the Certificate, so
//   that it isn't renewed.
// After `impossible`, each of these waits as `failed` instead of waiting_for_dns.
// Returns nothing, and changes nothing, if the claim has another generation or was released.
std::optional<Claim> record_check(db::Tx& tx, const std::string& id, std::int64_t generation,
                                  const Check& check);

// Moves a claim from waiting_for_dns or failed to issuing, if its newest check was proven and is
// younger than proof_holds, and takes an order from the limits of certificate_orders.h. If a limit
// is reached, the claim is failed with the reason order_budget. Returns the claim as it is
// afterwards. Returns nothing, and changes nothing, if the claim has another generation, was
// released, is in another state, or isn't proven.
inline constexpr Duration proof_holds = std::chrono::minutes(1);
std::optional<Claim> begin_issuing(db::Tx& tx, const std::string& id, std::int64_t generation);

struct Certificate {
  Instant expires_at;  // notAfter
  // status.renewalTime; if empty, two thirds of the remaining time
  std::optional<Instant> renews_at;
};
// Records a certificate, for a claim that is issuing, or active with an older certificate; the
// latter counts as a renewal. Returns false, and changes nothing, if the claim has another
// generation, was released, is in another state, or has this certificate already.
bool mark_active(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const Certificate& certificate);
// Records that the issuer refused. A claim that is issuing, or active with an expired certificate,
// becomes failed, and the caller deletes the Certificate. A new certificate is ordered after the
// next check of the DNS records, which comes later after each refusal. A claim with a
// valid certificate stays active, and its message is the reason. Returns false, and changes
// nothing, if the claim has another generation, was released, is in another state, or says the same
// already.
bool mark_failed(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const std::string& message);

// Returns the deployment's released claims that may still have objects on the cluster.
std::vector<Claim> leaving(db::Tx& tx, const std::string& deployment_id);
// Returns the ids of the deployments that have a live claim, or a released one with objects on the
// cluster, for a scan at the start of berthd.
std::vector<std::string> deployments_with_claims(db::Tx& tx);
// Records that a released claim has no objects left on the cluster, and notifies the deployment
// that waits for the domain.
void mark_removed(db::Tx& tx, const std::string& id);
// Whether another, released claim on the domain may still have objects on the cluster. If so, this
// claim's objects have to wait.
bool domain_is_held(db::Tx& tx, const Claim& claim);

// How often a domain is checked. Operators set a record and watch, so checks are frequent at first
// and rarer later.
struct Pace {
  // Applies up to this age, counted from when the domain was claimed, asked for or first refuted.
  Duration age;
  Duration interval;  // between two checks
};
inline constexpr Pace paces[] = {{std::chrono::minutes(10), std::chrono::seconds(5)},
                                 {std::chrono::hours(1), std::chrono::seconds(30)},
                                 {std::chrono::hours(24), std::chrono::minutes(5)}};
inline constexpr Duration slowest_pace = std::chrono::hours(1);
inline constexpr Duration issuing_pace = std::chrono::minutes(1);
inline constexpr Duration active_pace = std::chrono::hours(24);
// Active, but the last check wasn't proven.
inline constexpr Duration doubtful_pace = std::chrono::hours(1);
// A check this long before the renewal decides whether the certificate is renewed.
inline constexpr Duration renewal_guard = std::chrono::hours(1);
// The wait after an issuer's refusal, which doubles up to a day. Let's Encrypt allows five failed
// validations of a name in an hour (letsencrypt.org/docs/rate-limits).
inline constexpr Duration first_retry = std::chrono::minutes(15);
inline constexpr Duration slowest_retry = std::chrono::hours(24);
inline constexpr size_t max_message_length = 1024;  // a longer message is cut

}  // namespace berth::custom_domains
