#include "reconcilers/cluster/job_workers.h"

#include "controller/base/log.h"
#include "reconcilers/cluster/failures.h"

namespace berth::reconcilers {
namespace {

constexpr std::chrono::milliseconds gathering_runs{50};

using Took = std::chrono::duration<double, std::milli>;

void log_pass(log::Level level, const std::string& id, const JobLoop::Subject& subject,
              const std::string& reason, Took took) {
  log::write(level, "run reconciled",
             {{"run", id},
              {"deployment", subject.deployment_id},
              {"kind", subject.kind},
              {"reason", reason},
              {"duration_ms", took.count()}});
}

}  // namespace

JobWorkers::JobWorkers(std::shared_ptr<prometheus::Registry> registry, const std::string& host,
                       JobLoop& loop, std::function<bool()> leads)
    : loop_(loop),
      leads_(std::move(leads)),
      metrics_(std::move(registry), "run", host, count),
      queue_(metrics_.queue_observer()) {}

JobWorkers::~JobWorkers() { stop(); }

void JobWorkers::start() {
  queue_.serve("runs", std::size_t(count), [this](const std::string& id) { handle(id); });
}

void JobWorkers::stop() { queue_.stop(); }

void JobWorkers::enqueue_soon(const std::string& run_id) {
  queue_.add_after(run_id, gathering_runs);
}

void JobWorkers::stall(const std::string& id) {
  const std::lock_guard lock(mutex_);
  stalled_.insert(id);
}

void JobWorkers::stall_until_leading(const std::string& id) {
  stall(id);
  if (leads_()) try_again();  // leadership may have begun before the id was stalled
}

void JobWorkers::handle(const std::string& id) {
  if (!leads_()) return stall_until_leading(id);
  Metrics::Reconcile pass(metrics_);
  JobLoop::Subject subject;
  const auto failed = [&](const std::exception& failure, std::optional<std::chrono::seconds> wait) {
    if (wait)
      queue_.add_after(id, *wait);
    else
      queue_.add_rate_limited(id);
    log_pass(log::Level::warning, id, subject, failure.what(), pass.took());
  };
  try {
    const Outcome outcome = loop_.reconcile(id, subject);
    queue_.forget(id);
    if (outcome.again) queue_.add_after(id, *outcome.again);
    pass.ended(outcome.again ? "requeue_after" : "success");
    const bool quiet = outcome.writes == 0 && !outcome.recorded;
    log_pass(quiet ? log::Level::debug : log::Level::info, id, subject, outcome.reason,
             pass.took());
  } catch (const kube::Fenced& fenced) {
    pass.ended("requeue");
    stall_until_leading(id);
    log_pass(log::Level::info, id, subject, fenced.what(), pass.took());
  } catch (const kube::ApiError& error) {
    if (meaning_of(error) == Failure::unreachable) stall(id);
    failed(error, error.retry_after);
  } catch (const std::exception& error) {
    failed(error, std::nullopt);
  }
}

void JobWorkers::try_again() {
  std::set<std::string> stalled;
  {
    const std::lock_guard lock(mutex_);
    stalled.swap(stalled_);
  }
  for (const std::string& id : stalled) {
    queue_.forget(id);
    queue_.add(id);
  }
}

}  // namespace berth::reconcilers
