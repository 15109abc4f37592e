#pragma once

#include <chrono>

namespace berth::embedded {

// How long things take in the simulated cluster.
struct Timing {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds schedule{100};  // until a new pod is assigned to a node
  Milliseconds pull{700};      // for an image that the node doesn't have
  Milliseconds start{400};     // until a container listens, or crashes
  Milliseconds probe{300};     // from then until the readiness probe succeeds
  Milliseconds stop{300};      // from a pod's deletion until it is gone
  Milliseconds issue{1500};    // until a certificate is issued
  // The length of the cluster's second, in which probe periods, back-offs and deadlines are
  // counted. Time stamps are taken from the real clock.
  Milliseconds second{1000};

  // Everything happens at once, and a second lasts 10 ms: for tests.
  static Timing instant() {
    using namespace std::chrono_literals;
    return {0ms, 1ms, 1ms, 1ms, 1ms, 5ms, 10ms};
  }
  // Returns a timing in which everything, a second included, passes `factor` times as fast.
  Timing sped_up(int factor) const {
    return {schedule / factor, pull / factor,  start / factor, probe / factor,
            stop / factor,     issue / factor, second / factor};
  }
  // Returns a timing in which each step takes `factor` times as long. The length of a second stays.
  Timing slowed(int factor) const {
    return {schedule * factor, pull * factor,  start * factor, probe * factor,
            stop * factor,     issue * factor, second};
  }
};

using Moment = std::chrono::steady_clock::time_point;

}  // namespace berth::embedded
