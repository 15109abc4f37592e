#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/rewards.h"

// Learning modules: done in their order, step by step, rewarded from the treasury. Functions throw
// berth::Error.
namespace berth::learning {

struct Module {
  std::string id;
  std::int64_t number = 0;  // the order; 1 to 1,000,000
  std::string title;
  std::string description;
  std::int64_t total = 1;                                 // steps
  std::int64_t min_seconds = 0;                           // from the start until a step counts
  std::int64_t points = 0;                                // for completing it
  std::optional<std::int64_t> repeat_after_seconds = {};  // nothing: it pays once
  bool active = true;                                     // else no user sees it
};

Page<Module> list_all(db::Tx& tx, const PageRequest& page);  // for admins, in order
Module get(db::Tx& tx, const std::string& id);               // throws module_not_found
// With number 0 it becomes the last. Throws validation_failed where another has the number.
Module create(db::Tx& tx, const Module& module);
// Stores every field but id. Who has completed the module has completed it. Throws as create does.
Module update(db::Tx& tx, const Module& module);

// incomplete: not begun, or on the way; completed: until the next round begins.
enum class Status { incomplete, completed };

// A user's way through a module. A round begins with the first progress that is reported, by our
// clock, and ends with the last step; another may begin from repeat_eligible_at on.
struct Progress {
  Module module;
  bool open = false;                          // the one before it was completed once
  std::optional<Instant> started_at;          // of the round
  std::int64_t completed = 0;                 // steps of the round
  std::optional<Instant> completed_at;        // of the round
  std::optional<Instant> repeat_eligible_at;  // once completed, where it may be repeated
  Status status() const { return completed_at ? Status::completed : Status::incomplete; }
  // Before it no step counts; nothing where no round has begun.
  std::optional<Instant> counts_from() const;
};

// What is active, in order.
Page<Progress> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Throws module_not_found.
Progress find(db::Tx& tx, const std::string& user_id, std::int64_t number);

struct Learner {
  std::string user_id;
  std::optional<std::string> app_id;  // that he learns in: its owner's rewards are capped
};
enum class Counted { yes, too_early };
struct Report {
  Progress progress;
  Counted counted = Counted::yes;
  rewards::Outcome reward;  // of completing the module by this report
};
// The user has done `completed` steps of the module. The first report of a round begins it; steps
// count once min_seconds have passed since then, and those that come earlier change nothing, but
// for beginning the round. Completing it pays; an empty treasury, a cap or an unverified address
// doesn't keep it from being completed. Throws module_not_found; validation_failed beyond the
// module's steps; invalid_state where the module before it wasn't completed yet, and where fewer
// steps are reported than before.
Report report(db::Tx& tx, const rewards::Rules& rules, const Learner& learner, std::int64_t number,
              std::int64_t completed);

// Which path through the modules the user has chosen: a name that apps know what to do with.
inline constexpr const char* default_path = "general";
enum class PathStatus { not_started, in_progress, completed };
struct Path {
  PathStatus status = PathStatus::not_started;  // over all active modules
  std::string name = default_path;
};
Path path(db::Tx& tx, const std::string& user_id);
Path choose_path(db::Tx& tx, const std::string& user_id, const std::string& name);

// The end of an account: progress and path go. In the transaction that deletes it.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::learning
