#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/error.h"
#include "controller/db/database.h"

// Writes that are committed in one transaction.
namespace berth::test {

// How a write ended: empty for success, the code of an Error, or the message of another exception.
struct Outcome {
  std::optional<Code> refused;
  std::string other;
  bool stored() const { return !refused && other.empty(); }
};

inline Outcome outcome_of(db::Database& database, const std::function<void(db::Tx&)>& work) {
  try {
    database.write(work);
    return {};
  } catch (const Error& error) {
    return {.refused = error.code, .other = {}};
  } catch (const std::exception& failure) {
    return {.refused = {}, .other = failure.what()};
  }
}

// Holds the writer thread inside a write until it is released.
class HeldWriter {
 public:
  explicit HeldWriter(db::Database& database)
      : thread_([&] {
          database.write([&](db::Tx&) {
            running_.count_down();
            release_.wait();
          });
        }) {
    running_.wait();
  }
  ~HeldWriter() { release(); }
  void release() {
    if (!std::exchange(released_, true)) release_.count_down();
  }

 private:
  std::latch running_{1}, release_{1};
  bool released_ = false;
  std::jthread thread_;
};

// Queues these writes while the writer is busy, calls `before_release()`, and lets them run. They
// form one group unless a thread was very late, which commits() tells.
inline std::vector<Outcome> together(
    db::Database& database, const std::vector<std::function<void(db::Tx&)>>& jobs,
    const std::function<void()>& before_release = [] {}) {
  std::vector<Outcome> outcomes(jobs.size());
  std::atomic<size_t> entered = 0;
  HeldWriter held(database);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < jobs.size(); ++i)
    threads.emplace_back([&, i] {
      ++entered;
      outcomes[i] = outcome_of(database, jobs[i]);
    });
  while (entered < jobs.size()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  before_release();
  held.release();
  threads.clear();  // joins them
  return outcomes;
}

}  // namespace berth::test
