#include "reconcilers/cluster/autoscaler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controller/base/log.h"
#include "controller/domain/deployments/deployments.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/usage.h"

namespace berth::reconcilers {
namespace {

namespace scales = deployments::scales;
using deployments::Status;

// The name that the ingress controller has for the process.
std::string service_of(const scales::Scaled& process) {
  return traefik_service(manifests::namespace_of(process.app_id),
                         manifests::object_name(process.deployment_id), service_port);
}

// Containers that don't run have no load, and a stop isn't to be disturbed.
bool is_served(const scales::Scaled& process) {
  return process.status == Status::running || process.status == Status::deploying;
}

double load_of(const scales::Scaled& process, const RequestLoad& load) {
  const auto found = load.in_flight.find(service_of(process));
  return found == load.in_flight.end() ? 0 : found->second;
}

}  // namespace

Autoscaler::Autoscaler(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      looks_(prometheus::BuildCounter()
                 .Name("berth_autoscaler_looks_total")
                 .Help("Looks at the requests in flight, by result: complete, incomplete if a part "
                       "of the ingress controller didn't answer, or missing")
                 .Register(*parts_.registry)),
      complete_(looks_.Add({{"result", "complete"}})),
      incomplete_(looks_.Add({{"result", "incomplete"}})),
      missing_(looks_.Add({{"result", "missing"}})),
      changes_(prometheus::BuildCounter()
                   .Name("berth_autoscaler_changes_total")
                   .Help("Changes of the number of containers of a deployment with scale, by "
                         "direction: up or down")
                   .Register(*parts_.registry)),
      up_(changes_.Add({{"direction", "up"}})),
      down_(changes_.Add({{"direction", "down"}})),
      deployments_(prometheus::BuildGauge()
                       .Name("berth_autoscaler_deployments")
                       .Help("Deployments with scale, of the process that scales them; 0 in others")
                       .Register(*parts_.registry)
                       .Add({})),
      at_most_(prometheus::BuildGauge()
                   .Name("berth_autoscaler_at_maximum")
                   .Help("Deployments whose requests in flight need the greatest number of "
                         "containers that their scale allows, and more than the least one")
                   .Register(*parts_.registry)
                   .Add({})) {}

Loop Autoscaler::loop() {
  return {.name = std::string(name),
          .interval = options_.interval,
          .lease = std::string(name),
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the autoscaler failed"};
}

void Autoscaler::run_once(Round& round) {
  const LoadTime now = parts_.now();
  if (round.is_first()) known_.clear();
  if (next_look_ && now < *next_look_) return;
  const auto all = round.read([](db::Tx& tx) { return scales::all(tx); });
  deployments_.Set(double(all.size()));
  forget_others(all);
  if (all.empty()) {
    at_most_.Set(0);
    return;
  }
  const auto load = look(all, now);
  if (!load) return;
  Changes changes;
  int at_most = 0;
  for (const Scaled& process : all) {
    if (!is_served(process)) continue;
    const auto& scale = process.scale;
    if (scale.max > scale.min && containers_for(load_of(process, *load), scale) >= scale.max)
      ++at_most;
    if (auto change = decide(process, *load, now)) changes.push_back(std::move(*change));
  }
  at_most_.Set(at_most);
  write(round, changes, now);
}

// Forgets what isn't scaled or doesn't run any more: it begins anew when it does.
void Autoscaler::forget_others(const std::vector<Scaled>& all) {
  std::set<std::string> served;
  for (const Scaled& process : all)
    if (is_served(process)) served.insert(process.deployment_id);
  std::erase_if(known_, [&](const auto& each) { return !served.contains(each.first); });
  const std::lock_guard lock(mutex_);
  std::erase_if(in_flight_, [&](const auto& each) { return !served.contains(each.first); });
}

std::optional<RequestLoad> Autoscaler::look(const std::vector<Scaled>& all, LoadTime now) {
  std::set<std::string> services;
  for (const Scaled& process : all)
    if (is_served(process)) services.insert(service_of(process));
  auto load = parts_.load ? parts_.load(services, now) : std::nullopt;
  const LoadTime end = parts_.now();
  next_look_ = end + std::min<LoadTime::duration>(pause_in_looks * (end - now), longest_pause);
  (!load ? missing_ : load->is_complete ? complete_ : incomplete_).Increment();
  say_whether_known(load.has_value());
  const std::lock_guard lock(mutex_);
  in_flight_.clear();
  if (load)
    for (const Scaled& process : all)
      if (is_served(process)) in_flight_[process.deployment_id] = load_of(process, *load);
  return load;
}

// Says it once when the load becomes unknown, and once when it is known again.
void Autoscaler::say_whether_known(bool is_known) {
  if (!parts_.load) {
    if (!std::exchange(has_warned_, true))
      log::warning(
          "deployments with scale keep their number of containers, because nothing counts "
          "requests: set traefik-metrics-url");
    return;
  }
  if (is_known == std::exchange(is_known_, is_known)) return;
  if (is_known)
    log::info("the requests in flight are known again");
  else
    log::warning(
        "deployments with scale keep their number of containers, because the ingress "
        "controller doesn't say how many requests are in flight");
}

std::optional<scales::Change> Autoscaler::decide(const Scaled& process, const RequestLoad& load,
                                                 LoadTime now) {
  const double in_flight = load_of(process, load);
  Known& known = known_[process.deployment_id];
  // What isn't complete can be a reason for more containers, but not for fewer.
  if (load.is_complete) known.quiet.add(now, in_flight, options_.quiet_time);
  // A rollout needs both its old and its new containers, so none is removed meanwhile.
  const bool may_go_down = load.is_complete && process.status == Status::running;
  const int next =
      next_containers(process.scale, process.replicas, in_flight,
                      may_go_down ? known.quiet.greatest(now, options_.quiet_time) : std::nullopt);
  const bool may_log = !known.logged_at || now - *known.logged_at >= logged_each;
  const bool is_logged = !known.logged_at || known.logged == process.replicas;
  if (next == process.replicas && (is_logged || !may_log)) return std::nullopt;
  scales::Change change = {.deployment_id = process.deployment_id,
                           .process = process.process,
                           .from = process.replicas,
                           .replicas = next,
                           .in_flight = in_flight};
  if (may_log) change.logged_from = known.logged_at ? known.logged : process.replicas;
  return change;
}

void Autoscaler::write(Round& round, const Changes& changes, LoadTime now) {
  for (std::size_t begin = 0; begin < changes.size() && !round.is_stopping(); begin += batch) {
    const std::size_t end = std::min(begin + batch, changes.size());
    std::vector<const scales::Change*> made;
    round.write([&](db::Tx& tx) {
      made.clear();  // an earlier run of this transaction may have filled it
      for (std::size_t i = begin; i < end; ++i)
        if (scales::set(tx, changes[i])) made.push_back(&changes[i]);
    });
    for (const scales::Change* change : made) {
      if (change->replicas != change->from)
        (change->replicas > change->from ? up_ : down_).Increment();
      if (!change->logged_from) continue;
      Known& known = known_[change->deployment_id];
      known.logged_at = now;
      known.logged = change->replicas;
    }
  }
}

std::optional<double> Autoscaler::in_flight(const std::string& deployment_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = in_flight_.find(deployment_id);
  return found == in_flight_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace berth::reconcilers
