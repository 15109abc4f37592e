#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"

// Custom domains: the claim of a deployment on a host name outside of apps-domain, what the DNS
// says of it, and how its certificate is. At most one claim lives for each domain, and for each
// deployment.
//
// Two writers share a row. The API claims and releases, and raises `generation` where the operator
// asks to look again; the loop records what it saw for the claim and generation that it acted on.
// What it recorded for another one is dropped.
//
//   waiting_for_dns -> issuing -> active    after a check that says `proven`: begin_issuing
//   issuing -> failed                       the certificate is refused, or no order is left; looked
//                                           at again by itself, at `next_check_at`
//   any -> waiting_for_dns                  the DNS points elsewhere by now
namespace berth::custom_domains {

enum class State { waiting_for_dns, issuing, active, failed };
std::string_view to_string(State state);
State parse_state(std::string_view text);  // throws std::invalid_argument

// Why a domain isn't served (or soon won't be): one machine-readable reason.
enum class Reason {
  dns_not_pointing,    // CNAME or address record missing or wrong; `message` says which
  txt_missing,         // TXT record missing or wrong
  dns_unreachable,     // the name servers don't answer, or with an error
  domain_taken,        // another owner displaced a claim that the DNS refuted for long
  certificate_failed,  // the issuer refused; `message` has its words
  order_budget,        // as many certificates were ordered as may be, see certificate_orders.h
};
std::string_view to_string(Reason reason);
std::optional<Reason> parse_reason(std::string_view text);

// Why a claim needs the TXT record, whatever else leads to us.
enum class TxtReason {
  apex,                // its zone can't have a CNAME there (RFC 1912, section 2.4)
  domain_used_before,  // another owner claimed the domain at some time
  name_used_before,  // the deployment's name was another owner's: a forgotten CNAME may lead to it
};
std::string_view to_string(TxtReason reason);

struct Claim {
  std::string id;
  std::string deployment_id;
  std::string app_id;
  std::string owner_id;
  std::string domain;    // lower case, without a dot at the end
  std::string name;      // of the deployment: the DNS has to point to <name>.<apps-domain>
  bool is_apex = false;  // registered itself
  std::optional<TxtReason> txt_reason;
  std::int64_t generation = 1;
  State state = State::waiting_for_dns;
  std::optional<Reason> reason;
  std::optional<std::string> message;
  std::vector<std::string> addresses;  // of the platform's ingress, as the newest check saw them
  int failures = 0;                    // certificates refused in a row
  Instant claimed_at;
  Instant asked_at;  // claimed, or asked to look again
  std::optional<Instant> checked_at;
  Instant next_check_at;
  std::optional<Instant> proven_at;      // the newest check, where that one was proven
  std::optional<Instant> refuted_since;  // the first refuted check since the last proven one
  std::optional<Instant> expires_at;     // the certificate that is served
  std::optional<Instant> renews_at;
  std::optional<Instant> released_at;

  bool needs_txt() const { return txt_reason.has_value(); }
};

// ---- What has to be set in the DNS ------------------------------------------------------------

struct Record {
  std::string type;  // CNAME, TXT, ALIAS, A, AAAA
  std::string name;
  std::string value;
  bool operator==(const Record&) const = default;
};
// <name>.<apps-domain>: what the domain has to point to.
std::string target_of(const Claim& claim, const std::string& apps_domain);
// `_berth-challenge.<domain>` and `berth=<deployment id>`: proof that the domain is the operator's.
std::string challenge_name(const Claim& claim);
std::string challenge_value(const Claim& claim);
// Exactly what has to be set. CNAME; for an apex ALIAS (which some providers call ANAME, or a
// flattened CNAME) or, as long as `addresses` are known, A and AAAA records with the same effect;
// TXT where `claim.txt_reason` asks for it.
std::vector<Record> records(const Claim& claim, const std::string& apps_domain);

// ---- What the API does --------------------------------------------------------------------------

// A claim that the DNS refutes for so long gives way to another owner's, so that nobody can hold
// domains that aren't his. It must have been checked not long ago, too: an outage of ours takes no
// domain from anybody.
inline constexpr Duration refuted_claim_holds = std::chrono::hours(7 * 24);
inline constexpr Duration refutation_is_fresh = std::chrono::hours(24);

struct Claimant {
  std::string deployment_id;  // empty: it doesn't exist yet
  std::string app_id;
  std::string owner_id;
};
// Throws domain_taken where another deployment's claim lives that doesn't give way. `domain` is
// normalised, and nothing that domain_names::refusal has something to say of.
void refuse_taken(db::Tx& tx, const Claimant& claimant, const std::string& domain);
// The deployment's claim is on `domain` from now on; an older one on another domain is released.
// On the same domain: look again now, with the next generation. Another's claim that gives way is
// released: failed, domain_taken. The data key is for name_history. Throws domain_taken.
Claim claim(db::Tx& tx, const Claimant& claimant, const std::string& domain,
            const std::string& data_key);
// The deployment claims nothing any more. Changes nothing where it didn't.
void release(db::Tx& tx, const std::string& deployment_id);

// The deployment's living claim; else nothing.
std::optional<Claim> living(db::Tx& tx, const std::string& deployment_id);
// The living claim, or the one that was displaced: what GET …/domain shows.
std::optional<Claim> newest(db::Tx& tx, const std::string& deployment_id);

// ---- What the loop does -----------------------------------------------------------------------
// Each change that the API makes is told with Topic::custom_domain and the deployment's id.

// Living claims whose next check is due, the longest due first.
std::vector<Claim> due(db::Tx& tx, int limit);
// When the next one is due; may lie in the past. Nothing where no claim lives.
std::optional<Instant> next_due(db::Tx& tx);
std::optional<Claim> find(db::Tx& tx, const std::string& id);

enum class Outcome {
  proven,   // all records are as they should be
  refuted,  // the DNS answered, and a record is missing or wrong
  unknown,  // no answer, or an error that says nothing about the domain
};
struct Check {
  Outcome outcome = Outcome::unknown;
  std::optional<Reason> reason;        // where not proven
  std::optional<std::string> message;  // which record is missing, what stands there instead
  std::vector<std::string> addresses;  // of target_of(claim); empty: not looked up, keep the known
};
// Stores when and what was seen and when to look again, and returns the claim as it is then:
//   waiting_for_dns, failed: refuted or unknown -> waiting_for_dns with the reason; proven -> as it
//     was, with proven_at (go on with begin_issuing);
//   issuing: refuted -> waiting_for_dns (withdraw the Certificate, so that no order follows);
//   active: stays active, with the reason, until the renewal is near (renewal_guard): then refuted
//     and unknown -> waiting_for_dns (withdraw the Certificate: it must not be renewed).
// Nothing, and no change, where the claim has another generation or was released.
std::optional<Claim> record_check(db::Tx& tx, const std::string& id, std::int64_t generation,
                                  const Check& check);

// From waiting_for_dns or failed, where the newest check was proven and is younger than
// proof_holds: takes an order of the owner's budget and is issuing; without budget: failed,
// order_budget. Returns the claim as it is then; nothing, and no change, where the claim has
// another generation, was released, is in another state, or isn't proven.
inline constexpr Duration proof_holds = std::chrono::minutes(1);
std::optional<Claim> begin_issuing(db::Tx& tx, const std::string& id, std::int64_t generation);

struct Certificate {
  Instant expires_at;                // notAfter
  std::optional<Instant> renews_at;  // status.renewalTime; nothing: two thirds of what is left
};
// From issuing, or active with a newer certificate (which counts as a renewal in the budgets).
// False, and no change, where the claim has another generation, was released, or says that already.
bool mark_active(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const Certificate& certificate);
// The issuer refused. From issuing, or active with a certificate that has expired: failed; withdraw
// the Certificate: the next order is made after the next check, which comes the later the more
// often it failed. From active with a valid certificate: stays active, with the reason. False as
// above.
bool mark_failed(db::Tx& tx, const std::string& id, std::int64_t generation,
                 const std::string& message);

// Claims of this deployment that were released and may have objects on the cluster.
std::vector<Claim> leaving(db::Tx& tx, const std::string& deployment_id);
// Ids of the deployments that have a living claim, or one that is leaving: for a scan at the start.
std::vector<std::string> deployments_with_claims(db::Tx& tx);
// Nothing of a released claim is left on the cluster. Tells whoever waits for the domain.
void mark_removed(db::Tx& tx, const std::string& id);
// Another, released claim of the domain isn't off the cluster yet: our objects wait for it.
bool domain_is_held(db::Tx& tx, const Claim& claim);

// Rhythm of the checks. People set a record and watch: often at first, ever rarer later.
struct Pace {
  Duration age;       // since it was claimed, asked for or first refuted: up to this
  Duration interval;  // between two checks
};
inline constexpr Pace paces[] = {{std::chrono::minutes(10), std::chrono::seconds(5)},
                                 {std::chrono::hours(1), std::chrono::seconds(30)},
                                 {std::chrono::hours(24), std::chrono::minutes(5)}};
inline constexpr Duration slowest_pace = std::chrono::hours(1);
inline constexpr Duration issuing_pace = std::chrono::minutes(1);
inline constexpr Duration active_pace = std::chrono::hours(24);
inline constexpr Duration doubtful_pace = std::chrono::hours(1);  // active, and not proven any more
// A check this long before the renewal decides whether there is one.
inline constexpr Duration renewal_guard = std::chrono::hours(1);
// After a refusal of the issuer: doubles up to a day. Five failed validations of a name are allowed
// in an hour (letsencrypt.org/docs/rate-limits).
inline constexpr Duration first_retry = std::chrono::minutes(15);
inline constexpr Duration slowest_retry = std::chrono::hours(24);
inline constexpr size_t max_message_length = 1024;  // a longer one is cut

}  // namespace berth::custom_domains
