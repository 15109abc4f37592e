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

LedgerLoop::LedgerLoop(db::Database& database, Options options)
    : database_(database),
      turn_(database, options.replicas, "ledger"),
      rounds_("ledger", [this] { run_and_log(); }, {.interval = options.interval}) {}

bool LedgerLoop::run_once() {
  if (!turn_.is_mine()) {
    begin_anew();  // another process continues from what is stored
    return false;
  }
  return close_some() || check_days() || check_others();
}

// After begin_closing() is committed, nothing is posted on that day. Once none of its credits is
// pending, what is read of it doesn't change any more.
bool LedgerLoop::close_some() {
  if (!closing_) {
    const auto day = database_.read([](db::Tx& tx) { return ledger::next_to_close(tx); });
    if (!day) return false;
    turn_.write([&](db::Tx& tx) { ledger::begin_closing(tx, *day); });
    ledger::fold_in_batches(database_);
    database_.read([&](db::Tx& tx) { closing_.emplace(tx, *day); });
  }
  int left = ledger::rows_of_step;
  if (!database_.read([&](db::Tx& tx) { return closing_->step(tx, left); })) return true;
  const std::int64_t day = closing_->day();
  const std::string chain =
      turn_.write([&](db::Tx& tx) { return ledger::end_closing(tx, day, closing_->sums()); });
  log_violations(closing_->finding());
  if (!chain.empty())
    log::info("closed a day of the ledger", {{"day", utc_date(day)},
                                             {"transactions", closing_->sums().transactions},
                                             {"chain", chain}});
  closing_.reset();
  return true;
}

bool LedgerLoop::check_days() {
  if (!database_.read([&](db::Tx& tx) {
        if (!ledger::is_days_pass_due(tx)) return false;
        ledger::read_days(tx, pass_);
        return true;
      }))
    return false;
  log_violations(pass_.seen);
  if (pass_.last || pass_.is_over) turn_.write([&](db::Tx& tx) { ledger::store(tx, pass_); });
  return true;
}

bool LedgerLoop::check_others() {
  const auto step = database_.read([](db::Tx& tx) { return ledger::read_others(tx); });
  if (!step) return false;
  log_violations(step->seen);
  turn_.write([&](db::Tx& tx) { ledger::store(tx, *step); });
  return true;
}

void LedgerLoop::begin_anew() {
  closing_.reset();
  pass_ = {};
}

void LedgerLoop::run_and_log() {
  try {
    run_once();
  } catch (const std::exception& failure) {
    begin_anew();
    log::warning("the audit of the ledger couldn't continue and will be tried again",
                 {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
