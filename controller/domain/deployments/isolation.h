#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Whether tenants are kept apart on the cluster, as the isolation probe found out by trying
// (reconcilers/cluster/isolation_probe.h). The newest report is a row of `meta`; each report is in
// the audit log, too.
namespace berth::isolation {

// The configuration key `isolation`.
enum class Mode {
  required,  // new deployments wait until a probe has found no open path
  warn,      // what the probe finds is logged and shown
  off,       // nothing is probed
};
constexpr auto texts_of(Mode) { return EnumTexts<Mode::off>{"required", "warn", "off"}; }

enum class State {
  proven,     // the newest report found every forbidden path shut, and isn't too old
  open,       // the newest report found a forbidden path open
  unproven,   // there is no such report, or it is older than proof_lasts
  off,        // nothing is probed
  simulated,  // there is nothing to measure: no container really runs
};
constexpr auto texts_of(State) {
  return EnumTexts<State::simulated>{"proven", "open", "unproven", "off", "simulated"};
}

// What is right for a path.
enum class Wanted {
  shut,
  open,
  either,  // such as the internet, which some clusters can't reach
};
constexpr auto texts_of(Wanted) { return EnumTexts<Wanted::either>{"shut", "open", "either"}; }

// What became of an attempt to use a path.
enum class Result {
  open,
  shut,
  untried,  // the container couldn't try it
};
constexpr auto texts_of(Result) { return EnumTexts<Result::untried>{"open", "shut", "untried"}; }

struct Path {
  std::string from;    // the name of the pod that tried it
  std::string to;      // what it leads to, for people
  std::string target;  // protocol/address/port
  Wanted wanted = Wanted::shut;
  Result result = Result::untried;
  std::string detail = {};  // how the attempt ended: answer, refused, silence or the system's words
};

struct Report {
  Instant at{};
  std::vector<Path> paths;
  // Why the paths prove nothing although none is open; empty if they prove something.
  std::string doubt = {};
};
// The greatest number of paths that a report contains. Of each, only the detail may be as long as
// max_text, so that a stored report takes less than 100 KiB.
inline constexpr size_t max_paths = 160;
// The greatest length of a text in a report; longer ones are cut.
inline constexpr size_t max_text = 200;

// Whether a forbidden path was found open, and whether a path that apps need was found shut.
bool is_open(const Path& path);
bool is_blocked(const Path& path);
// The numbers of such paths.
int open_paths(const Report& report);
int blocked_paths(const Report& report);

// What is known: the newest report that proves something either way, and the newest attempt that
// came to no such report.
struct Known {
  std::optional<Report> report;
  std::string problem;  // why the newest attempt failed; empty if it made the report
  std::optional<Instant> problem_at;
};
Known known(db::Tx& tx);
// How long a report counts as a proof. The probe runs daily, so two runs may fail.
inline constexpr Duration proof_lasts = std::chrono::hours(72);
// The state of a cluster that is probed: proven, open or unproven.
State state_of(const Known& known, Instant now);

// Stores a report that proves something either way, and records it in the audit log.
void store(db::Tx& tx, const Report& report);
// Stores why the newest attempt came to no report, and adds it to the audit log if the problem is
// new.
void store_problem(db::Tx& tx, const std::string& problem);

// Why deployments that aren't on the cluster yet have to wait while isolation is required; empty if
// they needn't. The text is for their owner, and says nothing about the paths.
std::string why_to_wait(const Known& known, Instant now);

}  // namespace berth::isolation
