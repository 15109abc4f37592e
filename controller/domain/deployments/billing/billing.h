#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/deployments/billing/period.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/tiers.h"

// What deployments on a paid tier cost, and what happens where the points for it are missing.
//
// A period is charged ahead, from the app's account, in one piece and once: its row in
// deployment_charges stands in the transaction of the debit. Stopped deployments aren't renewed. A
// renewal that fails stops the deployment (suspended), but never before a warning has been out for
// `notice`: where there is none yet, because berthd was down or the points went at the last moment,
// the warning comes first and the deployment runs on. That time is the platform's loss, unless the
// points arrive: then its period is paid whole. Periods that passed entirely while berthd was down
// aren't charged, because nobody could stop or delete anything.
//
// Mail and log entries (billing_warning, billing_failed, suspend, reactivate) commit with what they
// are about.
namespace berth::billing {

enum class Status {
  current,
  warning,    // the next renewal would fail
  suspended,  // stopped for want of points; goes on as soon as the balance suffices
  exempt,     // its tier costs nothing
};
std::string_view to_string(Status status);
// What the owner of one that is suspended is told.
inline constexpr const char* points_missing =
    "the points for the next 30 days are missing; it starts again as soon as they are there";
Status parse_status(std::string_view text);  // throws std::invalid_argument

// ---- What the API does, in the transaction of the change ---------------------------------------

// A deployment has been created: charges its first period. Throws insufficient_balance.
void open(db::Tx& tx, const deployments::Deployment& deployment, const tiers::Tier& tier);

// The deployment is to run, or is changed (restart, PATCH, rollback): charges the period of now
// where it isn't paid. One that is suspended for want of points is deploying again after it. Throws
// insufficient_balance. What was read of the deployment before is old afterwards.
void resume(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id);

// Its owner stops or deletes it: nothing is renewed, and nothing starts it but its owner. True
// where it would have started again by itself.
bool rest(db::Tx& tx, const std::string& deployment_id);

// Puts it on another tier, with that one's memory and CPU, and settles the price for the rest of
// the period: charges are rounded up, credits down. A period that isn't paid is charged whole, at
// the new price. The caller raises the generation. Returns what was charged; below 0: credited.
// Throws insufficient_balance, and unavailable where the treasury can't pay the credit.
std::int64_t change_tier(db::Tx& tx, const deployments::Actor& actor,
                         const std::string& deployment_id, const tiers::Tier& tier);

// An admin is about to stop it. Whether it runs, or would start by itself, is kept for when that is
// over.
void suspended_by_admin(db::Tx& tx, const std::string& deployment_id);
// That is over. True where the deployment is to be started: it was to run, and the period of now is
// paid. Where the points for that are missing it waits for them, suspended.
bool released_by_admin(db::Tx& tx, const std::string& deployment_id);

// A tier's price or stipend has changed: its deployments are looked at again. A new price counts
// from each one's next period.
void tier_changed(db::Tx& tx, const std::string& tier_id);

struct Entry {
  std::string kind;  // charge, tier_change
  std::string tier;  // the slug; of a tier_change: the new one
  std::optional<std::string> from_tier;
  Instant period_start;
  std::int64_t amount = 0;                    // charged; below 0: credited
  std::optional<std::string> transaction_id;  // of the ledger; nothing where no points moved
  Instant at;
};
inline constexpr int max_entries = 200;
struct View {
  Status status = Status::exempt;
  std::string tier;
  std::int64_t price = 0;               // of a period, at the tier's price of now
  Period period;                        // that of now
  bool is_paid = false;                 // or free
  std::optional<Instant> next_renewal;  // nothing: it isn't renewed as it is now
  std::optional<Instant> warned_at;
  std::optional<Instant> stops_at;  // where the points don't come
  std::int64_t balance = 0;         // of the app
  std::vector<Entry> history;       // the newest max_entries, newest first
};
View view(db::Tx& tx, const std::string& deployment_id);

// ---- What the loop does -------------------------------------------------------------------------

// Ids of deployments that have to be looked at now, the longest due first.
std::vector<std::string> due(db::Tx& tx, int most);
// When the next one is due; may lie in the past.
std::optional<Instant> next_due(db::Tx& tx);
// Ids, after `after` and in their order, of deployments that are warned or suspended and whose
// price the app's balance covers; of one app, or of all where `app_id` is empty.
std::vector<std::string> in_debt(db::Tx& tx, const std::string& app_id, const std::string& after,
                                 int most);

// Does whatever is right for the deployment now: renews, warns, suspends, reactivates, pays the
// owner's stipend; afterwards it is due in the future or not at all. Writes nothing where nothing
// is to do.
void look(db::Tx& tx, const std::string& deployment_id, const std::string& data_key);
// Looking failed: not before `until` again.
void postpone(db::Tx& tx, const std::string& deployment_id, Instant until);

}  // namespace berth::billing
