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

// Decides which of several berthd processes of one instance may write to the cluster: the one that
// holds a Lease (kubernetes.io, "Leases"). The algorithm and its numbers are those of client-go's
// tools/leaderelection. The holder renews the Lease; another process takes it once it has seen no
// change in it for `lease_duration`, measured by its own clock. Clocks of different machines are
// never compared, only elapsed time counts.
class Leader {
 public:
  using Wait = std::chrono::milliseconds;

  struct Options {
    // How long others wait for a holder that has stopped renewing. Whole seconds.
    Wait lease_duration{15'000};
    // A holder that hasn't been able to renew for this long stops leading, well before others may
    // start.
    Wait renew_deadline{10'000};
    // The pause between two attempts to renew or to become the holder. It is shorter before a Lease
    // that isn't renewed may be taken.
    Wait retry_period{2'000};
  };

  struct State {
    bool leading = false;
    std::string holder;      // as last seen; empty if there is none or nothing is known
    std::string last_error;  // why the latest attempt failed; empty if the server answered it
  };

  // Uses the Lease `name` in the namespace `name_space`, which must exist. `on_started` is called
  // on the leader's thread whenever this process starts to lead; there is no callback for losing
  // the Lease, see write_time(). Makes no request before start(). Throws std::invalid_argument if
  // the options leave no time for a write.
  Leader(const kube::Kubeconfig& cluster, std::string name_space, std::string name,
         std::function<void()> on_started, prometheus::Registry& registry, Options options);
  ~Leader();  // calls stop()
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  // Starts the thread that competes for the Lease, and returns at once.
  void start();
  // Gives the Lease back, so that the next holder needn't wait. Call it when nothing is written to
  // the cluster any more. Takes as long as two requests, at most `renew_deadline`.
  void stop();

  // How long a write that begins now may take; nothing if this process doesn't lead. This is
  // computed from the clock and doesn't depend on the leader's thread being on time. A write that
  // keeps to it is over `retry_period` before another process may lead, because the API server may
  // still be working on a request that the client has given up. Thread-safe.
  std::optional<Wait> write_time() const;
  State state() const;
  const std::string& identity() const { return identity_; }

 private:
  using Moment = std::chrono::nanoseconds;  // since boot

  void run(const std::stop_token& stop);
  void attempt();
  void take(Moment began);
  // Reads the Lease and takes it if possible. Returns whether it was written: a Lease that merely
  // still names this process may be about to expire.
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
  kube::Client client_;  // separate, so that other requests don't delay the renewals
  prometheus::Gauge& leading_gauge_;

  // Used by the leader's thread only.
  std::optional<kube::Object> known_;  // the Lease as last seen
  Moment seen_at_{};                   // when a change of the Lease was last seen
  bool leading_ = false;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::optional<Moment> renewed_at_;  // when the last successful renewal began
  std::string holder_;
  std::string last_error_;

  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
