#pragma once

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Which of several berthd on one instance may write to the cluster: the one that holds a Lease
// (kubernetes.io, "Leases"), after client-go's tools/leaderelection and with its numbers. A holder
// renews; who isn't it takes the Lease once nothing changed in it for `lease_duration` by his own
// clock. No two clocks are ever compared: what counts is time that passes.
class Leader {
 public:
  using Wait = std::chrono::milliseconds;

  struct Options {
    // How long others wait for a holder that says nothing more. Whole seconds.
    Wait lease_duration{15'000};
    // A holder that couldn't renew for so long stops: well before others may begin.
    Wait renew_deadline{10'000};
    // Between two tries to renew, or to become the holder.
    Wait retry_period{2'000};
  };

  struct State {
    bool leading = false;
    std::string holder;      // as last seen; empty where nobody is, or nothing is known
    std::string last_error;  // of the last try; empty where it was answered
  };

  // The Lease `name` in `name_space`, which must exist. `on_started` is called on the leader's
  // thread each time that this process begins to lead; losing needs no call, see write_time().
  // Nothing is asked before start(). Throws std::invalid_argument for options that leave no time.
  Leader(const kube::Kubeconfig& cluster, std::string name_space, std::string name,
         std::function<void()> on_started, prometheus::Registry& registry, Options options);
  ~Leader();  // stops
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  void start();
  // Gives the Lease back, so that the next one needn't wait. To be called when nothing is written
  // any more. Takes as long as two requests, at most `renew_deadline`.
  void stop();

  // How long a write that begins now may take: nothing where this process doesn't lead. Goes by the
  // clock and not by the thread, so that a late thread is no risk. What it allows is over
  // `retry_period` before somebody else may lead: the API server may still be at it when the client
  // has given up. Thread-safe.
  std::optional<Wait> write_time() const;
  State state() const;
  const std::string& identity() const { return identity_; }

 private:
  using Moment = std::chrono::nanoseconds;  // since the boot

  void run(const std::stop_token& stop);
  void attempt();
  void take(Moment began);
  // Whether the Lease was written: one that only names this process still may be on its end.
  bool look_and_take();
  bool may_be_taken() const;
  void see(kube::Object lease);
  kube::Object next_version(const std::string& holder) const;
  void succeeded(Moment began);
  void failed(const std::string& error);
  void end_if_late();
  void ended(const std::string& why);
  void release();
  Wait pause();

  const Options options_;
  const std::string name_space_;
  const std::string name_;
  const std::string identity_;
  const std::function<void()> on_started_;
  kube::Client client_;  // of its own: others' requests don't hold it up
  prometheus::Gauge& leading_gauge_;

  // Of the thread alone.
  std::optional<kube::Object> known_;  // the Lease as last seen
  Moment seen_at_{};                   // when it was seen to be another one than before
  bool leading_ = false;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::optional<Moment> renewed_at_;  // the begin of the last renewal that succeeded
  std::string holder_;
  std::string last_error_;

  std::jthread thread_;  // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
