#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/billing/billing.h"

// How a deployment's billing is stored; for the files of billing alone.
namespace berth::billing {

struct Account {
  std::string id;  // of the deployment
  std::string app_id;
  std::string owner_id;
  std::string name;
  deployments::Status wish = deployments::Status::pending;  // the deployment's status
  bool suspended_by_admin = false;
  Instant created_at;
  std::string tier_id;
  std::string tier_slug;
  std::int64_t price = 0;  // of the tier, for a period, now
  std::int64_t stipend = 0;

  Status status = Status::exempt;
  Instant paid_until;
  std::int64_t rate = 0;
  std::optional<Instant> due_at;
  std::optional<Instant> warned_at;
  bool resumes = false;

  bool operator==(const Account&) const = default;
};

std::optional<Account> find_account(db::Tx& tx, const std::string& deployment_id);
// Throws deployment_not_found.
Account get_account(db::Tx& tx, const std::string& deployment_id);
// Stores what billing may change of it: from `status` on.
void store(db::Tx& tx, const Account& account);

// Whether it runs, or is meant to: then it is renewed.
bool runs(const Account& account);
// Whether nobody but its owner may start it.
bool rests(const Account& account);

// Follows a price that has become 0, or has ceased to be. What was paid for stays paid; a tier that
// was free costs from the next period on.
void follow_price(Account& account, Instant now);

// Charges the period of now where that isn't paid yet; it is paid until its end afterwards, and no
// warning is left. False, and no change, where the app's balance is too low.
bool pay(db::Tx& tx, Account& account);

// Ends a suspension for want of points: deploying again, with a log entry. `actor` is nobody where
// the loop does it.
void reactivate(db::Tx& tx, Account& account, const std::optional<deployments::Actor>& actor);

// What is written where the loop changes a deployment, instead of an HTTP request's id.
inline constexpr const char* request_of_loop = "billing";

}  // namespace berth::billing
