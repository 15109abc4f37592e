#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include "controller/base/shares.h"
#include "controller/base/thread_crew.h"

namespace berth::api {

// Threads that run reads of very many rows, in the order of their arrival. They have a low
// priority, so that all others get a processor before them: a request that takes a fraction of a
// millisecond would otherwise wait until one that takes many has used up its turn. They are started
// when there is such a read, and end when there was none for a while. Thread-safe.
class HeavyReads {
 public:
  // How many reads may run and wait. It is less than half of the requests that are handled at the
  // same time, because each of them holds one of those.
  static constexpr std::size_t places = 24;

  HeavyReads(Pool pool, unsigned threads);
  ~HeavyReads();  // waits for the reads that run

  // Runs `work` on one of the threads and returns when it has ended. Throws what `work` throws;
  // db::TooSlow if all threads are busy for longer than db::RequestLimits::reader_wait, or the
  // system can't start any; and Error
  // `unavailable` if the claimant of the calling thread gets no place.
  void run(const std::function<void()>& work);

 private:
  // A read that runs or waits. It is on the stack of the thread that waits for its end.
  struct Task {
    const std::function<void()>& work;
    Claimant* claimant;  // of the request
    std::condition_variable changed;
    bool over = false;
    std::exception_ptr failure;
  };

  void serve(ThreadCrew::Lock& lock);

  Shares shares_;
  std::mutex mutex_;
  std::deque<Task*> waiting_;
  bool stopping_ = false;
  ThreadCrew crew_;
};

}  // namespace berth::api
