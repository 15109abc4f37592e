#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "controller/base/processes.h"
#include "reconcilers/cluster/request_load.h"

// How many containers a process with `scale` is to have. Neither clock nor cluster nor database is
// needed for that.
namespace berth::reconcilers {

// Returns how many containers this load needs so that each of them has at most `in_flight`
// requests, within the limits of `scale`. `in_flight` that isn't a number from 0 on counts as 0.
int containers_for(double in_flight, const deployments::Scale& scale);

// Returns how many containers there are to be, where there are `present` now. More come at once,
// and as many as the load needs: `max`, whose points are held, limits what a wrong measurement can
// cost. Fewer come only if `greatest` is known, the greatest load of the whole quiet time, and as
// few as that one needs. The result is within the limits of `scale`, which may have changed.
int next_containers(const deployments::Scale& scale, int present, double in_flight,
                    std::optional<double> greatest);

// The greatest load of the quiet time, after which containers are removed. A look costs a constant
// time on average; the memory is bounded by the looks of a quiet time.
class QuietTime {
 public:
  // A time without a look that is longer than this can't count as quiet: the quiet time begins
  // again after it.
  static constexpr std::chrono::seconds longest_gap{30};

  // Adds what a look has found. The times grow.
  void add(LoadTime now, double in_flight, std::chrono::steady_clock::duration quiet_time);
  // Returns the greatest load within `quiet_time` before `now`; nothing if it isn't known for so
  // long.
  std::optional<double> greatest(LoadTime now,
                                 std::chrono::steady_clock::duration quiet_time) const;

 private:
  struct Look {
    LoadTime at;
    double in_flight;
  };
  std::optional<LoadTime> begin_;
  LoadTime last_;
  // Those that no later one exceeds, so that the first is the greatest.
  std::deque<Look> looks_;
};

}  // namespace berth::reconcilers
