#include "reconcilers/loops/pending_credits.h"

#include "controller/base/log.h"
#include "controller/domain/ledger/pending.h"

namespace berth::reconcilers {

PendingCredits::PendingCredits(db::Database& database, Options options)
    : database_(database),
      turn_(database, options.replicas, "pending_credits"),
      rounds_("pending credits", [this] { run_and_log(); }, {.interval = options.interval}) {}

// The lease needn't be checked within the transaction, because a credit is added only once even if
// two processes try.
int PendingCredits::run_once() {
  if (!turn_.is_mine() || !database_.read(ledger::is_any_pending)) return 0;
  return ledger::fold_in_batches(database_, [this] { return rounds_.stopping(); });
}

// A failure that lasts is logged once, because rounds follow each other quickly.
void PendingCredits::run_and_log() {
  try {
    run_once();
    has_failed_ = false;
  } catch (const std::exception& failure) {
    if (!has_failed_)
      log::warning("pending credits couldn't be added to their accounts; trying again",
                   {{"error", failure.what()}});
    has_failed_ = true;
  }
}

}  // namespace berth::reconcilers
