#include "reconcilers/cluster/usage_sampler.h"

#include "controller/base/log.h"
#include "controller/base/url.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/pod_trouble.h"
#include "reconcilers/cluster/usage.h"

namespace berth::reconcilers {
namespace {

using usage_history::Metric;
using usage_history::Values;

constexpr std::chrono::seconds sampler_connect_timeout{2};
// A list of thousands of pods takes a moment.
constexpr std::chrono::seconds sampler_request_timeout{10};

constexpr std::array<std::pair<Metric, double>, 3> quantiles = {
    {{Metric::latency_p50, 0.5}, {Metric::latency_p95, 0.95}, {Metric::latency_p99, 0.99}}};

kube::ClientOptions unhurried() {
  kube::ClientOptions options;
  options.connect_timeout = sampler_connect_timeout;
  options.request_timeout = sampler_request_timeout;
  options.max_retries = 0;
  return options;
}

std::optional<std::int64_t>& at(Values& values, Metric metric) { return values.at(size_t(metric)); }

}  // namespace

UsageSampler::UsageSampler(Parts parts)
    : parts_(std::move(parts)), client_(parts_.cluster, unhurried()), traefik_(parts_.requests) {}

Loop UsageSampler::loop() {
  return {.name = "usage",
          .interval = std::chrono::seconds(2),
          .round = [this](Round&) { run_once(); },
          .failure = "what the deployments use couldn't be measured"};
}

void UsageSampler::run_once() {
  const Instant now = parts_.clock.now();
  const std::int64_t minute = now.time_since_epoch() / usage_history::minute;
  // Before the cache is complete, it would look as if nothing ran.
  if (minute == measured_minute_ || !parts_.cache.synced()) return;
  measured_minute_ = minute;
  try {
    parts_.history.add(now, measure());
  } catch (const std::exception& failure) {
    log::warning("what the deployments use couldn't be stored", {{"error", failure.what()}});
  }
}

UsageHistory::Samples UsageSampler::measure() {
  Samples samples;
  add_pods(samples);
  add_pod_metrics(samples);
  add_traffic(samples);
  return samples;
}

void UsageSampler::add_pods(Samples& samples) {
  const Store& pods = parts_.cache.store(kube::pods);
  std::map<std::string, std::int64_t> restarts;
  namespaces_.clear();
  for (const std::string& id : pods.deployments()) {
    const std::vector<ObjectPtr> of_deployment = containers_of(parts_.cache, id);
    if (of_deployment.empty()) continue;
    namespaces_[id] = namespace_of(*of_deployment.front());
    const std::int64_t counted = restarts_of(of_deployment);
    const auto before = restarts_.find(id);
    // A new pod begins at 0.
    const std::int64_t known = before == restarts_.end() ? counted : before->second;
    Values& values = samples[id];
    at(values, Metric::restarts) = counted >= known ? counted - known : counted;
    at(values, Metric::replicas) = std::ranges::count_if(of_deployment, [](const ObjectPtr& pod) {
      return is_ready(*pod) && !manifests::process_of(*pod).empty();
    });
    restarts[id] = counted;
  }
  restarts_ = std::move(restarts);
}

void UsageSampler::add_pod_metrics(Samples& samples) {
  Object list;
  try {
    list = Object::parse(client_.raw("/apis/metrics.k8s.io/v1beta1/pods?labelSelector=" +
                                     percent_encode(parts_.label_selector)));
  } catch (const std::exception& failure) {
    // A cluster needn't have a metrics server; without one the API answers 404 or 503.
    log::debug("the pods' metrics couldn't be read", {{"error", failure.what()}});
    return;
  }
  std::map<std::string, Object> by_deployment;  // each a list, as add_measured() takes it
  for (const Object& pod : field(list, {"items"}))
    if (!is_of_run(pod))
      by_deployment[label_of(pod, manifests::deployment_label)]["items"].push_back(pod);
  for (const auto& [id, pods] : by_deployment) {
    const auto sample = samples.find(id);
    if (sample == samples.end()) continue;  // its pods have ended since they were measured
    Usage usage;
    add_measured(usage, pods);
    at(sample->second, Metric::cpu) = usage.cpu_millicores;
    at(sample->second, Metric::memory) = usage.memory_bytes;
  }
}

void UsageSampler::add_traffic(Samples& samples) {
  const auto services = traefik_.traffic();
  if (!services) {
    traffic_.clear();  // otherwise the next minute would get what was counted during several
    return;
  }
  std::map<std::string, Traffic> counted;
  for (auto& [id, values] : samples) {
    const auto found = services->find(
        traefik_service(namespaces_.at(id), manifests::object_name(id), service_port));
    const Traffic now = found == services->end() ? Traffic() : found->second;
    if (const auto before = traffic_.find(id); before != traffic_.end()) {
      const Traffic passed = since(before->second, now);
      for (size_t of_class = 0; of_class < passed.by_class.size(); ++of_class)
        values.at(size_t(Metric::requests_2xx) + of_class) = passed.by_class.at(of_class);
      for (const auto& [metric, quantile] : quantiles)
        at(values, metric) = answer_time(passed, quantile);
    }
    counted[id] = now;
  }
  traffic_ = std::move(counted);
}

}  // namespace berth::reconcilers
