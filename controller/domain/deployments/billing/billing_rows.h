#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/billing/billing.h"

// How a deployment's billing is stored. Private to billing.
namespace berth::billing {

struct Account {
  std::string id;  // the deployment's id
  std::string app_id;
  std::string owner_id;
  std::string name;
  deployments::Status deployment_status = deployments::Status::pending;
  bool suspended_by_admin = false;
  Instant created_at;
  std::string tier_id;
  std::string tier_slug;
  std::int64_t tier_price = 0;  // points for a period of one container, at the present price
  int containers = 1;           // how many it may have at once
  std::int64_t price = 0;       // points for a period of all of them (price_of)
  std::int64_t stipend = 0;

  Status status = Status::exempt;
  Instant paid_until;
  std::int64_t rate = 0;  // the price at which the current period was paid
  std::optional<Instant> due_at;
  std::optional<Instant> warned_at;
  bool resumes = false;  // whether it starts again when an admin's suspension ends
  // Why it is suspended, if not because the points for 30 days are missing.
  std::optional<StoppedFor> stopped_for = {};

  bool operator==(const Account&) const = default;
};

// Returns what a period of all containers costs; at most ledger::max_points, more than which nobody
// can pay.
std::int64_t price_of(std::int64_t tier_price, int containers);
// The size that is paid for, for people: "3 containers on the tier small", or "the tier small".
std::string words_for_size(const Account& account);

std::optional<Account> find_account(db::Tx& tx, const std::string& deployment_id);
// Throws deployment_not_found.
Account get_account(db::Tx& tx, const std::string& deployment_id);
// Stores what billing may change: the fields from `status` on.
void store(db::Tx& tx, const Account& account);

// Whether the deployment runs or is meant to run, and so is renewed.
bool runs(const Account& account);
// Whether only its owner may start the deployment.
bool rests(const Account& account);

// Updates the account after its tier's price has become 0 or has ceased to be 0. What was paid for
// stays paid; a tier that was free is charged from the next period on.
void follow_price(Account& account, Instant now);

// Charges the current period if it isn't paid yet. Afterwards it is paid until the period's end,
// and a warning is withdrawn. Returns false, and changes nothing, if the app's balance is too low.
bool pay(db::Tx& tx, Account& account);
// Returns the points that pay() would charge now.
std::int64_t points_due(db::Tx& tx, const Account& account);

// Lets metering raise the hold for the deployment, which is to start without being asked for.
// Otherwise returns false and notes in the account why not.
bool is_admitted(db::Tx& tx, Account& account);

// What the owner of a suspended deployment is told.
const char* message_of(const std::optional<StoppedFor>& why);

// Ends a suspension for lack of points: the deployment is deploying again, with a log entry.
// `actor` is empty if the billing loop does it.
void reactivate(db::Tx& tx, Account& account, const std::optional<deployments::Actor>& actor);

// What is recorded in place of an HTTP request's id if the billing loop changes a deployment.
inline constexpr const char* request_of_loop = "billing";

}  // namespace berth::billing
