#include "api/gate/heavy_reads.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/lent_claimant.h"
#include "controller/db/request_limits.h"

namespace berth::api {
namespace {

constexpr std::chrono::seconds retry_after_refusal{10};
constexpr int niceness = 10;  // nice(2), more than other threads: a tenth of their weight

}  // namespace

HeavyReads::HeavyReads(Pool pool, unsigned threads)
    : shares_(pool, places),
      crew_(mutex_, {.most = threads,
                     .name = "heavy reads",
                     .work = [this](ThreadCrew::Lock& lock) { serve(lock); },
                     .next =
                         [this] {
                           return stopping_ || !waiting_.empty() ? ThreadCrew::now
                                                                 : ThreadCrew::never;
                         }}) {}

HeavyReads::~HeavyReads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  crew_.join();
}

void HeavyReads::run(const std::function<void()>& work) {
  Shares::Claim place(shares_, Claimant::of_thread());
  if (place.take() != Shares::Taken::yes) {
    Error refusal(Code::unavailable,
                  "too many large reads are being requested at the moment; try again later");
    refusal.retry_after = retry_after_refusal;
    throw refusal;
  }
  Task task{.work = work,
            .claimant = LentClaimant::of_thread(),
            .changed = {},
            .over = false,
            .failure = nullptr};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&task);
  if (!crew_.call(waiting_.size())) {
    waiting_.pop_back();
    throw db::too_slow("there was no thread for heavy reads");
  }
  const auto until = std::chrono::steady_clock::now() + db::RequestLimits::reader_wait;
  if (!task.changed.wait_until(lock, until, [&] { return task.over; })) {
    if (const auto mine = std::ranges::find(waiting_, &task); mine != waiting_.end()) {
      waiting_.erase(mine);
      throw db::too_slow("there was no free thread for heavy reads");
    }
    task.changed.wait(lock, [&] { return task.over; });  // the task has started, so its end is near
  }
  if (task.failure) std::rethrow_exception(task.failure);
}

void HeavyReads::serve(ThreadCrew::Lock& lock) {
  // On Linux, this concerns the calling thread alone. It is always allowed.
  [[maybe_unused]] const int now = ::nice(niceness);
  while (true) {
    if (waiting_.empty()) {
      if (stopping_ || !crew_.rest(lock)) return;
      continue;
    }
    Task& task = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      const LentClaimant lent(task.claimant);
      task.work();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    task.failure = std::move(failure);
    task.over = true;
    task.changed.notify_one();
  }
}

}  // namespace berth::api
