#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::embedded {

// Which requests a fault applies to. Empty fields match everything. The verbs are get, list, watch,
// create, update, apply, patch (all other patches), delete, deletecollection, logs, and raw for
// paths that aren't objects.
struct Match {
  std::string verb;
  std::string plural;
};

struct Fault {
  int times;                       // how many requests get it
  int status;                      // the status of the answer: 409, 410, 429, 500, 503 and so on
  std::optional<int> retry_after;  // seconds
  Match match;
};

// A request that was answered.
struct Recorded {
  std::string verb;
  std::string plural;
  std::string name_space;
  std::string name;
  std::string subresource;
  std::string manager;  // the field manager; empty for reads
  int status;
  bool writes() const;
};

// The faults that a test asks for, and a record of the requests. Thread-safe.
class Faults {
 public:
  // The most requests that are remembered; tests that look at them make fewer.
  static constexpr size_t most_recorded = 100'000;

  // If `remembers` is false, record() does nothing.
  explicit Faults(bool remembers) : remembers_(remembers) {}

  // Adds a fault, which applies after those that were added before.
  void add(Fault fault);
  void clear();
  // Returns the next fault that applies to this request, and counts it down.
  std::optional<Fault> next(const std::string& verb, const std::string& plural);

  // What the kubelet answers instead of a log; empty if it has the log.
  void set_log_words(const std::string& words);
  std::string log_words() const;

  // How many requests are in flight for a Service, by the name that Traefik would give it; no other
  // Service has any. Nothing stands for an ingress controller that doesn't say it.
  void set_in_flight(std::optional<std::map<std::string, double>> requests);
  std::optional<std::map<std::string, double>> in_flight() const;

  void set_latency(std::chrono::milliseconds latency) { latency_ = latency; }
  // While `hanging` is true, requests get no answer.
  void set_hanging(bool hanging);
  // Waits as long as a request has to wait; returns at once while the server is shutting down.
  void delay();
  // Ends all waits, and makes further ones return at once until resume() is called.
  void interrupt();
  void resume();

  void record(Recorded request);
  std::vector<Recorded> recorded() const;
  void forget_recorded();

 private:
  const bool remembers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fault> faults_;
  std::atomic<std::chrono::milliseconds> latency_{std::chrono::milliseconds(0)};
  std::string log_words_;
  std::optional<std::map<std::string, double>> in_flight_ = std::map<std::string, double>();
  bool hanging_ = false;
  bool interrupted_ = false;
  std::vector<Recorded> recorded_;
};

}  // namespace berth::embedded
