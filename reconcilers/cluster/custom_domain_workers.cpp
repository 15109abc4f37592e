#include "reconcilers/cluster/custom_domain_workers.h"

#include <random>

#include "controller/base/log.h"
#include "reconcilers/cluster/failures.h"

namespace berth::reconcilers {
namespace {

// Adds up to a tenth, so that domains that were claimed together aren't checked together for ever.
std::chrono::milliseconds with_jitter(std::chrono::milliseconds wait) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return wait + std::chrono::milliseconds(
                    std::uniform_int_distribution<std::int64_t>(0, wait.count() / 10)(random));
}

using Took = std::chrono::duration<double, std::milli>;

void log_pass(log::Level level, const std::string& id, const DomainLoop::Subject& subject,
              const std::string& reason, Took took) {
  log::write(level, "domain reconciled",
             {{"deployment", id},
              {"domain", subject.domain},
              {"state", subject.state},
              {"reason", reason},
              {"duration_ms", took.count()}});
}

}  // namespace

DomainWorkers::DomainWorkers(std::shared_ptr<prometheus::Registry> registry,
                             const std::string& host, DomainLoop& loop, std::function<bool()> leads)
    : loop_(loop),
      leads_(std::move(leads)),
      metrics_(std::move(registry), "domain", host, count),
      queue_(metrics_.queue_observer()) {}

DomainWorkers::~DomainWorkers() { stop(); }

void DomainWorkers::start() {
  queue_.serve("domains", std::size_t(count), [this](const std::string& id) { handle(id); });
}

void DomainWorkers::stop() { queue_.stop(); }

void DomainWorkers::stall(const std::string& id) {
  const std::lock_guard lock(mutex_);
  stalled_.insert(id);
}

void DomainWorkers::stall_until_leading(const std::string& id) {
  stall(id);
  if (leads_()) try_again();  // leadership may have begun before the id was stalled
}

void DomainWorkers::handle(const std::string& id) {
  if (!leads_()) return stall_until_leading(id);
  Metrics::Reconcile pass(metrics_);
  DomainLoop::Subject subject;
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
    if (outcome.again) queue_.add_after(id, with_jitter(*outcome.again));
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

void DomainWorkers::try_again() {
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
