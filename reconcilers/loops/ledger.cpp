#include "reconcilers/loops/ledger.h"

#include "controller/base/log.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/pending.h"

namespace berth::reconcilers {
namespace {

void log_violations(const ledger::Finding& finding) {
  if (finding.broken > 0)
    log::error("the audit of the ledger has found violations",
               {{"violations", finding.broken}, {"first", finding.first}});
}

}  // namespace

Loop LedgerLoop::loop() {
  return {.name = "ledger",
          .interval = std::chrono::seconds(1),
          .lease = "ledger",
          .round = [this](Round& round) { run_once(round); },
          .failure = "the audit of the ledger couldn't continue and will be tried again"};
}

bool LedgerLoop::run_once(Round& round) {
  if (round.is_first()) {  // continues from what is stored
    closing_.reset();
    pass_ = {};
  }
  return close_some(round) || check_days(round) || check_others(round);
}

// After begin_closing() is committed, nothing is posted on that day. Once none of its credits is
// pending, what is read of it doesn't change any more.
bool LedgerLoop::close_some(Round& round) {
  if (!closing_) {
    const auto day = round.read([](db::Tx& tx) { return ledger::next_to_close(tx); });
    if (!day) return false;
    round.write([&](db::Tx& tx) { ledger::begin_closing(tx, *day); });
    ledger::fold_in_batches(round.database());
    round.read([&](db::Tx& tx) { closing_.emplace(tx, *day); });
  }
  int left = ledger::rows_of_step;
  if (!round.read([&](db::Tx& tx) { return closing_->step(tx, left); })) return true;
  const std::int64_t day = closing_->day();
  const std::string chain =
      round.write([&](db::Tx& tx) { return ledger::end_closing(tx, *closing_); });
  log_violations(closing_->finding());
  if (!chain.empty())
    log::info("closed a day of the ledger", {{"day", utc_date(day)},
                                             {"transactions", closing_->sums().transactions},
                                             {"root", closing_->sums().root},
                                             {"chain", chain}});
  closing_.reset();
  return true;
}

bool LedgerLoop::check_days(Round& round) {
  if (!round.read([&](db::Tx& tx) {
        if (!ledger::is_days_pass_due(tx)) return false;
        ledger::read_days(tx, pass_);
        return true;
      }))
    return false;
  log_violations(pass_.seen);
  if (pass_.last || pass_.is_over) round.write([&](db::Tx& tx) { ledger::store(tx, pass_); });
  return true;
}

bool LedgerLoop::check_others(Round& round) {
  const auto step = round.read([](db::Tx& tx) { return ledger::read_others(tx); });
  if (!step) return false;
  log_violations(step->seen);
  round.write([&](db::Tx& tx) { ledger::store(tx, *step); });
  return true;
}

}  // namespace berth::reconcilers
