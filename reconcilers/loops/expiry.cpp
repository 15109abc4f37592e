#include "reconcilers/loops/expiry.h"

#include "controller/base/log.h"
#include "controller/domain/lifecycle/expiry.h"

namespace berth::reconcilers {

ExpiryLoop::ExpiryLoop(db::Database& database, std::vector<UseLog*> uses, Options options)
    : database_(database),
      uses_(std::move(uses)),
      options_(options),
      turn_(database, options.replicas, "expiry"),
      rounds_("expiry", [this] { run_and_log(); }, {.interval = options.interval}) {}

ExpiryLoop::~ExpiryLoop() { stop(); }

void ExpiryLoop::stop() {
  if (!rounds_.stop()) return;
  try {
    flush_uses();
  } catch (const std::exception& failure) {
    log::warning("the times when apps and sessions were last used couldn't be written",
                 {{"error", failure.what()}});
  }
}

void ExpiryLoop::flush_uses() {
  for (UseLog* uses : uses_) uses->flush(database_);
}

int ExpiryLoop::run_once() {
  if (!turn_.is_mine()) return 0;
  int removed = 0;
  // Reads before it writes, because even an empty transaction would hold up the other writers.
  while (!rounds_.stopping() &&
         database_.read([](db::Tx& tx) { return expiry::is_anything_due(tx); })) {
    const int some =
        turn_.write([&](db::Tx& tx) { return expiry::remove_some(tx, options_.batch); });
    if (some == 0) break;
    removed += some;
  }
  return removed;
}

void ExpiryLoop::run_and_log() {
  try {
    flush_uses();
    const int removed = run_once();
    if (removed > 0) log::debug("removed expired rows", {{"rows", removed}});
  } catch (const std::exception& failure) {
    log::warning("expired rows couldn't be removed", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
