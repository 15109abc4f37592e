#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::api {

// Threads that run reads of very many rows, in the order of their arrival. They have a low
// priority, so that all others get a processor before them: a request that takes a fraction of a
// millisecond would otherwise wait until one that takes many has used up its turn. Thread-safe.
class HeavyReads {
 public:
  explicit HeavyReads(unsigned threads);
  ~HeavyReads();  // waits for the reads that run

  // Runs `work` on one of the threads and returns when it has ended. Throws what `work` throws, and
  // db::TooSlow if all threads are busy for longer than db::RequestLimits::reader_wait.
  void run(const std::function<void()>& work);

 private:
  // On the stack of the thread that waits for it.
  struct Task {
    const std::function<void()>& work;
    std::condition_variable changed;
    bool over = false;
    std::exception_ptr failure;
  };

  void serve();

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Task*> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::api
