#include "reconcilers/cluster/request_load.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace berth::reconcilers {
namespace {

using Seconds = std::chrono::duration<double>;

// What was counted longer ago than this is no beginning of an interval.
constexpr Seconds longest_interval = CountedLoad::means.back();

// The sum of what the answers took, each of them `most` at most. Of a histogram's range only its
// end is known, so that this is a little too much at times, but never above what they took.
double seconds_of(const Traffic& passed, double most) {
  double sum = 0;
  std::int64_t below = 0;
  for (const auto& [bound, count] : passed.within) {
    sum += double(std::max<std::int64_t>(0, count - below)) * std::min(bound, most);
    below = count;
  }
  return std::min(sum, passed.seconds);
}

// Whether a counter is lower than before.
bool is_reset(const Traffic& before, const Traffic& now) {
  return !now.within.empty() && !before.within.empty() &&
         now.within.rbegin()->second < before.within.rbegin()->second;
}

}  // namespace

void CountedLoad::add(Interval& interval, const Process& before, const Process& now,
                      const std::set<std::string>& services) const {
  const double length = Seconds(now.read_at - before.read_at).count();
  if (length <= 0 || length > longest_interval.count()) return;
  for (const std::string& service : services) {
    const auto found = now.counts.find(service);
    if (found == now.counts.end()) continue;
    const auto earlier = before.counts.find(service);
    const Traffic begin = earlier == before.counts.end() ? Traffic() : earlier->second;
    if (is_reset(begin, found->second)) continue;
    const Traffic passed = since(begin, found->second);
    Means& sum = interval.in_flight[service];
    for (std::size_t mean = 0; mean < means.size(); ++mean)
      sum.at(mean) += seconds_of(passed, Seconds(means.at(mean)).count()) / length;
  }
}

std::optional<RequestLoad> CountedLoad::look(const std::set<std::string>& services, LoadTime now) {
  auto read = read_();
  if (!read) return std::nullopt;
  Interval interval = {.length = looked_at_ ? now - *looked_at_ : Seconds(0), .in_flight = {}};
  if (interval.length > longest_interval) {
    intervals_.clear();
    interval.length = Seconds(0);
  }
  for (auto& [name, counts] : read->counts) {
    Process process = {.read_at = now, .counts = std::move(counts)};
    const auto before = processes_.find(name);
    if (before != processes_.end()) add(interval, before->second, process, services);
    processes_.insert_or_assign(name, std::move(process));
  }
  std::erase_if(processes_,
                [&](const auto& each) { return now - each.second.read_at > longest_interval; });
  looked_at_ = now;
  if (interval.length > Seconds(0)) intervals_.push_front(std::move(interval));

  RequestLoad load = {.in_flight = {}, .is_complete = read->is_complete};
  for (std::size_t mean = 0; mean < means.size(); ++mean) {
    const Seconds window = means.at(mean);
    Seconds length(0);
    std::map<std::string, double, std::less<>> sums;
    std::size_t used = 0;
    for (; used < intervals_.size() && length < window; ++used) {
      const Interval& each = intervals_[used];
      length += each.length;
      for (const auto& [service, in_flight] : each.in_flight)
        sums[service] += in_flight.at(mean) * each.length.count();
    }
    // What was before the first interval counts as nothing, so that a single one is no spike.
    for (auto& [service, sum] : sums) sum /= std::max(length, window).count();
    if (mean == 0)
      for (const auto& [service, count] : read->long_requests)
        if (services.contains(service)) sums[service] += double(count);
    for (const auto& [service, in_flight] : sums) {
      double& most = load.in_flight[service];
      most = std::max(most, in_flight);
    }
    if (mean + 1 == means.size()) intervals_.resize(used);
  }
  return load;
}

LoadSource counted_load(const RequestCounts& counts) {
  if (!counts.own && counts.traefik_url.empty()) return {};
  const auto metrics = std::make_shared<TraefikMetrics>(counts);
  const auto load = std::make_shared<CountedLoad>([metrics] { return metrics->by_process(); });
  return [load](const std::set<std::string>& services, LoadTime now) {
    return load->look(services, now);
  };
}

}  // namespace berth::reconcilers
