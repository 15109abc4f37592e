#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::simulated {

// Which requests a fault meets. Empty: all. Verbs are get, list, watch, create, update, apply,
// patch (other patches), delete, deletecollection, logs, and raw for paths without objects.
struct Match {
  std::string verb;
  std::string plural;
};

struct Fault {
  int times;                       // so many requests meet it
  int status;                      // what they get: 409, 410, 429, 500, 503, …
  std::optional<int> retry_after;  // seconds
  Match match;
};

// A request as it was answered.
struct Recorded {
  std::string verb;
  std::string plural;
  std::string name_space;
  std::string name;
  std::string subresource;
  std::string manager;  // field manager; empty for reads
  int status;
  bool writes() const;
};

// The troubles that a test asks for, and the record of what was asked. Thread-safe.
class Faults {
 public:
  // Requests that are remembered; a test that looks at them makes fewer.
  static constexpr size_t most_recorded = 100'000;

  void add(Fault fault);
  void clear();
  // The next fault that this request meets, which is used up by that.
  std::optional<Fault> next(const std::string& verb, const std::string& plural);

  void set_latency(std::chrono::milliseconds latency) { latency_ = latency; }
  // Requests get no answer until this is taken back.
  void set_hanging(bool hanging);
  // Waits as long as a request has to; returns at once while the server is ending.
  void delay();
  // Ends all waits, now and from now on, until `resume`.
  void interrupt();
  void resume();

  void record(Recorded request);
  std::vector<Recorded> recorded() const;
  void forget_recorded();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fault> faults_;
  std::atomic<std::chrono::milliseconds> latency_{std::chrono::milliseconds(0)};
  bool hanging_ = false;
  bool interrupted_ = false;
  std::vector<Recorded> recorded_;
};

}  // namespace berth::simulated
