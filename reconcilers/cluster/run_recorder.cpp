#include "reconcilers/cluster/run_recorder.h"

#include <algorithm>

#include "controller/domain/deployments/metering/prices.h"
#include "manifests/manifests.h"

namespace berth::reconcilers {
namespace {

using metering::Run;

// How far development's clock is ahead of the machine's, by which runtimes name their times.
Duration ahead_of_machine(db::Tx& tx) {
  const auto ahead = std::chrono::round<std::chrono::seconds>(tx.now() - system_time());
  return std::max<Duration>(ahead, Duration(0));
}

std::vector<Run> by_our_clock(db::Tx& tx, std::vector<Run> runs) {
  const Duration ahead = ahead_of_machine(tx);
  for (Run& run : runs) {
    run.started_at += ahead;
    if (run.ended_at) *run.ended_at += ahead;
  }
  return runs;
}

bool any_open(const std::vector<Run>& runs) {
  return std::ranges::any_of(runs, [](const Run& run) { return !run.ended_at; });
}

void take_earlier(std::optional<Instant>& earliest, Instant at) {
  earliest = earliest ? std::min(*earliest, at) : at;
}

}  // namespace

RunRecorder::RunRecorder(db::Database& database, const Cache& cache, prometheus::Registry& registry)
    : database_(database),
      cache_(cache),
      family_(prometheus::BuildCounter()
                  .Name("berth_meter_runs_total")
                  .Help("Runs of metered containers, by what became known of them: opened, closed, "
                        "vanished (the cluster never named the end), missed (nobody saw them, and "
                        "they cost nothing), or clock_skew (times that can't be, and were cut).")
                  .Register(registry)),
      opened_(family_.Add({{"outcome", "opened"}})),
      closed_(family_.Add({{"outcome", "closed"}})),
      vanished_(family_.Add({{"outcome", "vanished"}})),
      missed_(family_.Add({{"outcome", "missed"}})),
      skewed_(family_.Add({{"outcome", "clock_skew"}})) {}

// From the informer. ------------------------------------------------------------------------------

void RunRecorder::changed(const Object& pod) {
  const std::string id = label_of(pod, manifests::deployment_label);
  const Instant now = system_time();
  const std::vector<Run> runs = runs_of(pod, now);
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  take_earlier(entry.changed_at, now);
  keep_ends_locked(entry, runs);
}

// Those that are recorded with their end, or kept already, are passed over: each event of a pod
// whose container has crashed names that end again.
void RunRecorder::keep_ends_locked(Entry& entry, const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (!run.ended_at) continue;
    const auto known = std::ranges::find(entry.recorded, run.name, &Run::name);
    if (known != entry.recorded.end() && known->ended_at) continue;
    const bool is_kept = std::ranges::any_of(
        entry.left, [&](const Left& left) { return left.run.name == run.name; });
    if (is_kept) continue;
    if (left_ >= most_left) {
      take_earlier(entry.vanished_at, *run.ended_at);
      continue;
    }
    entry.left.push_back({run, SteadyClock::now()});
    ++left_;
  }
}

void RunRecorder::left(const Object& pod, Instant last_seen) {
  const std::string id = label_of(pod, manifests::deployment_label);
  const std::vector<Run> runs = runs_of(pod, system_time());
  if (id.empty() || runs.empty()) return;
  // A kubelet that obeys has killed the container by the end of the pod's grace period.
  const auto grace_ends = instant_at(pod, {"metadata", "deletionTimestamp"});
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  if (any_open(runs))
    take_earlier(entry.vanished_at, grace_ends ? std::min(last_seen, *grace_ends) : last_seen);
  keep_ends_locked(entry, runs);
}

// For a reconcile. --------------------------------------------------------------------------------

// Reads once what the process that led before has left. Every look begins with this.
void RunRecorder::begin(db::Tx& tx) {
  {
    const std::lock_guard lock(mutex_);
    if (watched_before_) return;
  }
  const Instant watched = metering::watched_until(tx);
  const std::vector<std::string> open = metering::deployments_with_open(tx);
  const std::lock_guard lock(mutex_);
  if (watched_before_) return;
  watched_before_ = watched - ahead_of_machine(tx);
  for (const std::string& id : open) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end() || !entry->second.is_known) unseen_.insert(id);
  }
}

// A tier that has no price on a day gets none before the day ends, so what isn't metered costs one
// look-up a day for each tier.
bool RunRecorder::has_price(db::Tx& tx, const deployments::Deployment& row) {
  const std::int64_t today = utc_day(tx.now());
  if (!row.points_per_hour) {
    const std::lock_guard lock(mutex_);
    const auto day = without_price_.find(row.tier_id);
    if (day != without_price_.end() && day->second == today) return false;
  }
  if (metering::Prices(tx).is_metered(row.tier_id, today)) return true;
  const std::lock_guard lock(mutex_);
  without_price_[row.tier_id] = today;
  return false;
}

void RunRecorder::look(db::Tx& tx, const std::string& id, const deployments::Deployment* row) {
  begin(tx);
  const bool is_removed = row != nullptr && row->removed_at;
  const bool is_priced = row != nullptr && !is_removed && has_price(tx, *row);
  Instant vanished_at;
  {
    const Instant in_step_until = cache_.state(kube::pods).in_step_until;
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    const bool may_have_open = is_removed || unseen_.contains(id) ||
                               (found != entries_.end() && any_open(found->second.recorded));
    if (!is_priced && !may_have_open) {
      forget_locked(id);
      return;
    }
    Entry& entry = entries_[id];
    entry.is_metered = true;
    if (entry.is_known && !entry.is_doubted) return;
    if (!entry.is_known && !watched_before_)
      return;  // leadership has just begun: it is looked at again
    vanished_at = entry.is_known ? in_step_until : *watched_before_;
  }
  if (!follows_pods()) return;
  const std::vector<Run> runs = known_runs(id);
  const bool is_lacking =
      metering::would_change(tx, id, by_our_clock(tx, runs), vanished_at + ahead_of_machine(tx));
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  entry.is_doubted = false;
  entry.is_lacking = is_lacking;
  if (is_lacking) return;
  entry.is_known = true;
  settle_locked(id, runs);
}

bool RunRecorder::follows_pods() const {
  const InformerState pods = cache_.state(kube::pods);
  return pods.synced && pods.connected;
}

// The runs of the pods that are there, and of those that have left. The store may still have a pod
// as it was before it left; its last word counts.
std::vector<Run> RunRecorder::known_runs(const std::string& id) const {
  std::vector<Run> runs;
  const Instant now = system_time();
  for (const ObjectPtr& pod : cache_.store(kube::pods).of_deployment(id))
    std::ranges::move(runs_of(*pod, now), std::back_inserter(runs));
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return runs;
  for (const Left& left : entry->second.left) {
    const auto run = std::ranges::find(runs, left.run.name, &Run::name);
    if (run == runs.end())
      runs.push_back(left.run);
    else if (!run->ended_at)
      *run = left.run;
  }
  return runs;
}

std::optional<RunRecorder::News> RunRecorder::news(const std::string& id) {
  if (!follows_pods()) return std::nullopt;
  {
    // What changes from here on may not be among the runs, and has to be looked at again.
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end() || !found->second.is_metered) return std::nullopt;
    Entry& entry = found->second;
    if (entry.changed_at) take_earlier(entry.taken_at, *entry.changed_at);
    entry.changed_at.reset();
  }
  std::vector<Run> runs = known_runs(id);
  const Instant in_step_until = cache_.state(kube::pods).in_step_until;
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[id];
  if (entry.is_known && !entry.is_lacking && are_recorded(runs, entry.recorded)) {
    settle_locked(id, runs);
    return std::nullopt;
  }
  // Leadership has just begun, and what the process before this one has seen isn't read yet.
  if (!entry.is_known && !watched_before_) return std::nullopt;
  const Instant vanished_at =
      entry.is_known ? entry.vanished_at.value_or(entry.taken_at.value_or(in_step_until))
                     : *watched_before_;
  return News{.deployment_id = id, .runs = std::move(runs), .vanished_at = vanished_at};
}

metering::Recorded RunRecorder::record(db::Tx& tx, const News& news) {
  return metering::record(tx, news.deployment_id, by_our_clock(tx, news.runs),
                          news.vanished_at + ahead_of_machine(tx));
}

void RunRecorder::recorded(const News& news, const metering::Recorded& done) {
  opened_.Increment(done.opened);
  closed_.Increment(done.closed);
  vanished_.Increment(done.vanished);
  missed_.Increment(done.missed);
  skewed_.Increment(done.skewed);
  const std::lock_guard lock(mutex_);
  entries_[news.deployment_id].is_known = true;
  settle_locked(news.deployment_id, news.runs);
}

// The meter has these runs. A pod may have left since they were looked at: the end of its run is
// kept until the meter has that, too.
void RunRecorder::settle_locked(const std::string& id, const std::vector<Run>& runs) {
  Entry& entry = entries_[id];
  entry.recorded = runs;
  std::erase_if(entry.left, [&](const Left& left) {
    const auto settled = std::ranges::find(runs, left.run.name, &Run::name);
    if (settled == runs.end() || !settled->ended_at) return false;
    --left_;
    return true;
  });
  entry.is_lacking = false;
  entry.taken_at.reset();
  entry.vanished_at.reset();
  unseen_.erase(id);
}

void RunRecorder::nothing_is_left(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry != entries_.end() && entry->second.is_known && !any_open(entry->second.recorded))
    forget_locked(id);
}

void RunRecorder::forget_locked(const std::string& id) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  left_ -= entry->second.left.size();
  entries_.erase(entry);
}

// For the engine. ---------------------------------------------------------------------------------

void RunRecorder::begin_to_lead() {
  const std::lock_guard lock(mutex_);
  watched_before_.reset();
  unseen_.clear();
  for (auto& [id, entry] : entries_) {
    entry.is_known = false;
    entry.recorded.clear();
  }
}

void RunRecorder::doubt() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : entries_) entry.is_doubted = entry.is_known;
}

void RunRecorder::keep_watch(bool leads) {
  const auto now = SteadyClock::now();
  if (now < watch_due_) return;
  const InformerState pods = cache_.state(kube::pods);
  Instant until = pods.in_step_until;
  {
    const std::lock_guard lock(mutex_);
    drop_old_locked(now);
    if (!leads || !watched_before_ || !unseen_.empty()) return;
    bool runs = false;
    for (const auto& [id, entry] : entries_) {
      runs = runs || any_open(entry.recorded);
      for (const auto& at : {entry.changed_at, entry.taken_at})
        if (at) until = std::min(until, *at);
    }
    if (!runs) return;
  }
  until -= report_time;
  if (!follows_pods() || until <= watched_until_) return;
  watch_due_ = now + metering::watch_interval;
  database_.write(
      [&](db::Tx& tx) { metering::set_watched_until(tx, until + ahead_of_machine(tx)); });
  watched_until_ = until;
}

void RunRecorder::drop_old_locked(SteadyClock::time_point now) {
  for (auto& [id, entry] : entries_)
    left_ -= std::erase_if(entry.left, [&](const Left& left) {
      if (left.at + left_kept_for >= now) return false;
      take_earlier(entry.vanished_at, *left.run.ended_at);
      return true;
    });
}

}  // namespace berth::reconcilers
