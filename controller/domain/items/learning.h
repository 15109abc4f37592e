#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/rewards.h"

// Learning modules, which users complete in order and step by step, with rewards from the treasury.
// The functions throw berth::Error.
namespace berth::learning {

struct Module {
  std::string id;
  std::int64_t number = 0;  // its place in the order, 1 to 1,000,000
  std::string title;
  std::string description;
  std::int64_t total = 1;        // the number of steps
  std::int64_t min_seconds = 0;  // from the start of a round until a step counts
  std::int64_t points = 0;       // the reward for completing it
  std::optional<std::int64_t> repeat_after_seconds = {};  // empty: it pays once
  bool active = true;                                     // false: users don't see it
};

Page<Module> list_all(db::Tx& tx, const PageRequest& page);  // for administrators, in order
Module get(db::Tx& tx, const std::string& id);               // throws module_not_found
// Creates a module; with the number 0 it becomes the last one. Throws validation_failed if another
// module has the number, or if it is above 1,000,000.
Module create(db::Tx& tx, const Module& module);
// Stores all fields except the id. Users who have completed the module keep that. Throws like
// create() and get().
Module update(db::Tx& tx, const Module& module);

// incomplete: not begun, or in progress. completed: until the next round begins.
enum class Status { incomplete, completed };
constexpr auto texts_of(Status) { return EnumTexts<Status::completed>{"incomplete", "completed"}; }

// A user's progress in a module. A round begins with the first report, by berth's clock, and ends
// with the last step. The next round may begin from repeat_eligible_at on.
struct Progress {
  Module module;
  // The user has completed every active module before it at least once.
  bool open = false;
  std::optional<Instant> started_at;    // when the round began
  std::int64_t completed = 0;           // steps completed in the round
  std::optional<Instant> completed_at;  // when the round was completed
  // Set once the round is completed, if the module can be repeated.
  std::optional<Instant> repeat_eligible_at;
  Status status() const { return completed_at ? Status::completed : Status::incomplete; }
  // No step counts before this time. Empty if no round has begun.
  std::optional<Instant> counts_from() const;
};

// The user's progress in all active modules, in order.
Page<Progress> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Throws module_not_found.
Progress find(db::Tx& tx, const std::string& user_id, std::int64_t number);

struct Learner {
  std::string user_id;
  // The app in which the user learns, if any; the rewards in its owner's apps have a common cap.
  std::optional<std::string> app_id;
};
enum class Counted { yes, too_early };
struct Report {
  Progress progress;
  Counted counted = Counted::yes;
  rewards::Outcome reward;  // the reward for completing the module with this report
};
// Records that the user has completed `completed` steps of the module. The first report of a round
// begins the round. Steps count once min_seconds have passed since then; an earlier report changes
// nothing except that it may begin the round. Completing the module pays the reward, and the module
// is completed even if the reward is refused because of an empty treasury, a cap or an unverified
// email address. Throws module_not_found; validation_failed if the module has fewer steps;
// invalid_state if an active module before it hasn't been completed yet, or if fewer steps are
// reported than before.
Report report(db::Tx& tx, const rewards::Rules& rules, const Learner& learner, std::int64_t number,
              std::int64_t completed);

// The learning path that the user has chosen: a name whose meaning is known to the apps.
inline constexpr const char* default_path = "general";
enum class PathStatus { not_started, in_progress, completed };
constexpr auto texts_of(PathStatus) {
  return EnumTexts<PathStatus::completed>{"not_started", "in_progress", "completed"};
}
struct Path {
  PathStatus status = PathStatus::not_started;  // over all active modules
  std::string name = default_path;
};
Path path(db::Tx& tx, const std::string& user_id);
// Stores the name of the path, which may be any, and returns the path. Users may choose again.
Path choose_path(db::Tx& tx, const std::string& user_id, const std::string& name);

// Deletes the user's progress and path. Called in the transaction that deletes the account.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::learning
