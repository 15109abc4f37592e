#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/domain/deployments/billing/period.h"
#include "controller/domain/deployments/billing/status.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/tiers.h"

// What deployments on a paid tier cost, and what happens if the app has too few points for it. The
// price is that of the tier for each container that the deployment may have at once.
//
// A period is charged in advance, at once, and only once: its row in deployment_charges is written
// in the transaction that takes the points from the app's account. Stopped deployments aren't
// renewed. If a renewal can't be paid, the deployment is suspended, but never before its owner has
// been warned for as long as `notice`. If there is no warning yet, because berthd was down or the
// points were spent at the last moment, the warning comes first and the deployment keeps running.
// The platform bears the loss of that time, unless the points arrive; then the whole period is
// charged. Periods that passed entirely while berthd was down aren't charged, because nobody could
// stop or delete anything during them.
//
// Mail and log entries (billing_warning, billing_failed, suspend, reactivate) are committed
// together with what they report.
namespace berth::billing {

// What the owner of a suspended deployment is told.
inline constexpr const char* points_missing =
    "the points for the next 30 days are missing; it starts again as soon as they arrive";

// ---- For the API, in the transaction of the change --------------------------------------------

// insufficient_balance, with the points that would have been charged.
struct TooFewPoints : Error {
  TooFewPoints(std::int64_t points_due, const std::string& message)
      : Error(Code::insufficient_balance, message), points(points_due) {}
  std::int64_t points;
};

// Begins the billing of a new deployment and charges its first period. Throws TooFewPoints.
void open_account(db::Tx& tx, const deployments::Deployment& deployment, const tiers::Tier& tier);

// To be called when a deployment is to run as it is (restart): charges the current period if it
// isn't paid. A deployment that was suspended for lack of points is deploying
// afterwards. Throws TooFewPoints. A Deployment that was read before the call is out of date
// afterwards.
void resume(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id);

// To be called when the owner stops or deletes the deployment: it isn't renewed any more, and only
// its owner can start it again. Returns true if it wasn't running but would have been started by
// billing or by the end of an admin's suspension.
bool stop_renewal(db::Tx& tx, const std::string& deployment_id);

// To be called when the deployment's container is changed, instead of resume() and before the
// container is stored: also moves the deployment to another tier, if one is given, with that tier's
// memory and CPU, and to the number of containers that it may have at once. Settles the difference
// in price for the rest of the period: charges are rounded up, credits down. On the same tier, each
// container costs what was agreed for the period. An unpaid period is charged whole, at the new
// price. Fewer containers of what runs and is paid are never refused for want of points. The caller
// raises the generation. Returns the points charged, which are negative for a credit. Throws
// TooFewPoints, budget_reached, and unavailable if the treasury can't pay the credit.
std::int64_t change_size(db::Tx& tx, const deployments::Actor& actor,
                         const std::string& deployment_id, const std::optional<tiers::Tier>& tier,
                         const deployments::ContainerSpec& container);

// To be called before an admin's suspension: records whether the deployment runs or would start by
// itself, so that released_by_admin() can restore that.
void suspended_by_admin(db::Tx& tx, const std::string& deployment_id);
// Ends an admin's suspension. Returns true if the deployment should start: it ran before, and its
// current period is paid. If the points for that are missing, it stays suspended by billing until
// they arrive.
bool released_by_admin(db::Tx& tx, const std::string& deployment_id);

// To be called after a tier's price or stipend has changed: its deployments become due for
// settling. A new price applies from each deployment's next period.
void tier_changed(db::Tx& tx, const std::string& tier_id);

// A tier_change is one of the tier, of the number of containers, or of both.
enum class EntryKind { charge, tier_change, refund };
constexpr auto texts_of(EntryKind) {
  return EnumTexts<EntryKind::refund>{"charge", "tier_change", "refund"};
}

struct Entry {
  EntryKind kind = EntryKind::charge;
  std::string tier;  // the tier's slug; for a tier_change, the new tier's
  std::optional<std::string> from_tier;
  int containers = 1;                  // that it was for; for a refund, 1
  std::optional<int> from_containers;  // for a tier_change
  Instant period_start;
  std::int64_t amount = 0;                    // points charged; negative for a credit
  std::optional<std::string> transaction_id;  // the ledger transaction; empty if no points moved
  Instant at;
};
inline constexpr int max_entries = 200;
struct View {
  Status status = Status::exempt;
  std::string tier;
  int containers = 1;                   // how many it may have at once
  std::int64_t price = 0;               // points for a period of all, at the present price
  Period period;                        // the current period
  bool is_paid = false;                 // or the tier is free
  std::optional<Instant> next_renewal;  // empty if it won't be renewed in its present state
  std::optional<Instant> warned_at;
  std::optional<Instant> stops_at;  // when it will be suspended if the points don't arrive
  std::int64_t balance = 0;         // the app's balance
  std::vector<Entry> history;       // at most max_entries, newest first
};
// Throws deployment_not_found.
View view(db::Tx& tx, const std::string& deployment_id);

// Gives the app back points of what the deployment was charged, from the treasury. They may be as
// many as it was charged, less what it was credited and refunded. They are marked like a gift. The
// reason goes to the audit log and the row of the refund. Works for destroyed deployments, too.
// Returns the app's balance afterwards. Throws deployment_not_found, validation_failed if the
// amount is too large, and unavailable if the treasury has too few points.
std::int64_t refund(db::Tx& tx, const deployments::AdminAction& action,
                    const std::string& deployment_id, std::int64_t amount,
                    const std::string& reason);
// Returns how many points can be refunded, of those that were charged by the hour only what its
// days still say (metering/meter.h). Throws nothing for an unknown deployment.
std::int64_t refundable(db::Tx& tx, const std::string& deployment_id);
// Throws validation_failed if the amount is above `most`, which refundable() has returned.
void require_refundable(std::int64_t amount, std::int64_t most);

// A renewal that is to come.
struct Renewal {
  std::string deployment_id;
  std::string name;
  std::int64_t price = 0;  // points for a period of all containers, at the present price
  Instant at;
};
inline constexpr int max_renewals = 200;
// The next renewal of each of the app's deployments that runs and costs something, the earliest
// first; at most max_renewals.
std::vector<Renewal> next_renewals(db::Tx& tx, const std::string& app_id);

// Returns the points for the present period of a deployment if they weren't charged; 0 if they
// were, or it costs nothing. Throws deployment_not_found.
std::int64_t unpaid(db::Tx& tx, const std::string& deployment_id);

// ---- For metering -------------------------------------------------------------------------------

// Suspends a deployment that runs, for another reason than that the points for 30 days are missing:
// the same as if they were, but for the message, and without a mail, as metering writes one for the
// whole app. Webhooks get `points_per_hour`, and the log entries `details`. settle_due() starts it
// again once metering lets it (metering::admit).
void suspend_metered(db::Tx& tx, const std::string& deployment_id, StoppedFor why,
                     std::int64_t points_per_hour, const nlohmann::json& details);
// Adds the log entry that says that the points run out.
void log_warning(db::Tx& tx, const std::string& deployment_id, const nlohmann::json& details);
// The billing loop looks at the deployment at once.
void look_at(db::Tx& tx, const std::string& deployment_id);

// What the owner of a deployment is told that billing has suspended; nothing if it hasn't.
std::optional<std::string> why_suspended(db::Tx& tx, const std::string& deployment_id);

// ---- For the billing loop -----------------------------------------------------------------------

// Returns the ids of deployments that are due for settling, those that have waited longest first.
std::vector<std::string> due(db::Tx& tx, int most);
// Returns when the next deployment becomes due, which may be in the past.
std::optional<Instant> next_due(db::Tx& tx);
// Returns the ids, in ascending order and greater than `after`, of deployments that are warned or
// suspended and whose price is covered by their app's balance without what is held; for one app, or
// for all apps if `app_id` is empty. Those that a budget has stopped aren't among them.
std::vector<std::string> in_debt(db::Tx& tx, const std::string& app_id, const std::string& after,
                                 int most);

// What settle_due() did.
enum class Outcome { nothing, renewed, warned, suspended, reactivated };
inline constexpr size_t outcome_count = 5;

// Does whatever is due for the deployment now: renews, warns, suspends or reactivates it, and pays
// the owner's stipend. Afterwards it is due in the future or not at all. Writes nothing if nothing
// is due. Of several outcomes, returns the last one of the enum.
Outcome settle_due(db::Tx& tx, const std::string& deployment_id, const std::string& data_key);
// To be called if settle_due() has failed: the deployment isn't due again before `until`.
void postpone(db::Tx& tx, const std::string& deployment_id, Instant until);

}  // namespace berth::billing
