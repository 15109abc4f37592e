#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "reconcilers/cluster/traefik_metrics.h"

// How many requests are in flight: which have reached the ingress controller and aren't answered
// yet. The autoscaler decides by that.
namespace berth::reconcilers {

using LoadTime = std::chrono::steady_clock::time_point;

struct RequestLoad {
  // By the names that Traefik's metrics have for Services (traefik_service()); one that isn't here
  // has none.
  std::map<std::string, double, std::less<>> in_flight;
  // False if a part of the ingress controller didn't answer, so that there may be more.
  bool is_complete = true;
};

// Returns the requests in flight of these Services at `now`; nothing if that can't be found out.
// Called every second or two by one thread, with times that grow. May take seconds.
using LoadSource =
    std::function<std::optional<RequestLoad>(const std::set<std::string>& services, LoadTime now)>;

// Counts of answers and of how long they took become requests in flight by Little's law: the mean
// number in flight is the rate of answers times their mean duration, that is, the seconds that the
// answers of some time took, divided by that time.
//
// Two means are taken, over five seconds, which follows a spike, and over a minute, and the greater
// one counts. A request is seen when it ends, and counts in each mean for at most as long as the
// mean goes back. So requests of up to a minute are counted right, and a connection that was
// open for an hour is no spike when it ends. Of longer ones, such as WebSockets and streams, hardly
// anything is seen, unless the ingress controller says how many requests have gone on for more than
// five seconds: they are added to the mean over five seconds, which has what the others took and
// the last five seconds of these. Used by one thread.
class CountedLoad {
 public:
  using Read = std::function<std::optional<CountsOfProcesses>()>;
  explicit CountedLoad(Read read) : read_(std::move(read)) {}

  // A LoadSource. The first look at a process only begins to count. A process that was restarted
  // begins anew, which is no spike.
  std::optional<RequestLoad> look(const std::set<std::string>& services, LoadTime now);

  static constexpr std::array<std::chrono::seconds, 2> means = {long_request,
                                                                std::chrono::seconds(60)};

 private:
  using Means = std::array<double, means.size()>;
  struct Process {
    LoadTime read_at;
    TrafficOfServices counts;
  };
  // What was in flight between two looks, as each of the means counts it.
  struct Interval {
    std::chrono::duration<double> length;
    std::map<std::string, Means, std::less<>> in_flight;
  };

  void add(Interval& interval, const Process& before, const Process& now,
           const std::set<std::string>& services) const;

  const Read read_;
  std::map<std::string, Process> processes_;
  std::optional<LoadTime> looked_at_;
  std::deque<Interval> intervals_;  // the newest one is the first; as far back as the means go
};

// Returns a source that counts by CountedLoad; an empty one if nothing counts requests.
LoadSource counted_load(const RequestCounts& counts);

}  // namespace berth::reconcilers
