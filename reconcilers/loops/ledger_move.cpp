#include "reconcilers/loops/ledger_move.h"

#include <algorithm>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

using namespace std::chrono_literals;

// A batch has so many transactions that it takes about this long on this machine: whoever writes at
// the same time waits for it.
constexpr auto wanted_time = 10ms;
constexpr int first_batch = 50;
constexpr int smallest_batch = 5;
constexpr int largest_batch = 500;
// The pause after a batch is as long as the batch kept the database's writer busy, within these
// limits, so that at least about half of its time is left to others.
constexpr auto shortest_pause = 2ms;
constexpr auto longest_pause = 200ms;
constexpr auto pause_after_failure = 10s;
// The log gets a line each time that this much was moved, or that this time has passed.
constexpr std::int64_t logged_percents = 10;
constexpr auto logged_each = 1min;

}  // namespace

LedgerMove::LedgerMove(db::Database& database) : database_(database), batch_(first_batch) {}

void LedgerMove::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void LedgerMove::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

bool LedgerMove::run_once() {
  if (!database_.read(ledger::has_old_tables)) return false;
  database_.write([this](db::Tx& tx) {
    const auto begin = SteadyClock::now();
    ledger::move_old_rows(tx, batch_);
    writing_ = SteadyClock::now() - begin;
  });
  adapt();
  return true;
}

// Half or twice as many at most, because one measurement says little.
void LedgerMove::adapt() {
  if (writing_ > 2 * wanted_time) batch_ /= 2;
  if (writing_ < wanted_time / 2) batch_ *= 2;
  batch_ = std::clamp(batch_, smallest_batch, largest_batch);
}

void LedgerMove::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      log_progress();
      if (!run_once()) return;
      pause(stop, std::clamp<SteadyClock::duration>(writing_, shortest_pause, longest_pause));
    } catch (const std::exception& failure) {
      log::warning("older entries of the ledger couldn't be moved; trying again",
                   {{"error", failure.what()}});
      pause(stop, pause_after_failure);
    }
  }
}

void LedgerMove::log_progress() {
  const auto rows = database_.read(ledger::old_rows);
  if (!rows) {
    if (logged_percent_ >= 0) log::info("all older entries of the ledger are moved");
    logged_percent_ = -1;
    return;
  }
  const std::int64_t percent = rows->moved * 100 / rows->postings;
  const auto now = SteadyClock::now();
  const bool is_first = logged_percent_ < 0;
  if (!is_first && percent < logged_percent_ + logged_percents && now < logged_at_ + logged_each)
    return;
  log::info(is_first ? "moving older entries of the ledger into smaller rows; until that is done, "
                       "histories that reach back to them, audits and the erasure of memos wait"
                     : "moving older entries of the ledger",
            {{"moved", rows->moved}, {"of", rows->postings}, {"percent", percent}});
  logged_percent_ = percent;
  logged_at_ = now;
}

void LedgerMove::pause(const std::stop_token& stop, SteadyClock::duration how_long) {
  std::unique_lock lock(mutex_);
  stopping_.wait_for(lock, stop, how_long, [] { return false; });
}

}  // namespace berth::reconcilers
