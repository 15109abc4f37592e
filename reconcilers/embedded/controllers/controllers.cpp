#include "reconcilers/embedded/controllers/controllers.h"

#include <algorithm>

#include "controller/base/log.h"
#include "reconcilers/embedded/apiserver/quota.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

// The longest sleep if no timer is due earlier; changes and stop() wake the thread.
constexpr std::chrono::seconds longest_sleep{60};
// How long the thread may hold the store's mutex while there is work.
constexpr std::chrono::milliseconds longest_turn{2};
// A new deployment waits for at most this many reconciliations of objects that exist already.
constexpr int most_before_new = 64;
// After this time without a change the store gives memory back.
constexpr std::chrono::seconds quiet_time{1};

std::string phase_of(const ObjectPtr& pod) {
  return pod ? text_at(at_path(*pod, "/status"), "phase") : "";
}

}  // namespace

Controllers::Controllers(Store& store, Registry& registry, const PodTokens& tokens,
                         const RuntimeFactory& runtime, Timing timing, bool remembers_orders)
    : store_(store),
      registry_(registry),
      runtime_(runtime([this](const auto& name_space, const auto& pod) { wake(name_space, pod); })),
      events_(store, registry, runtime_->node().name),
      node_{store, registry, events_, *runtime_, tokens, runtime_->node().name, timing},
      kubelet_(node_),
      deployments_(store, registry, events_, timing),
      replica_sets_(store, registry, events_, timing),
      jobs_(store, registry, events_, timing),
      collector_(store, registry),
      certificates_(store, registry, timing, remembers_orders) {
  {
    const Lock lock(store_.mutex());
    events_.adopt();
    kubelet_.adopt(std::chrono::steady_clock::now());
  }
  thread_ = std::jthread([this] { run(); });
}

// The runtime's threads may wake the kubelet until the runtime is gone.
Controllers::~Controllers() {
  store_.stop();
  if (thread_.joinable()) thread_.join();
  runtime_.reset();
}

void Controllers::wake(const std::string& name_space, const std::string& pod) {
  const Lock lock(store_.mutex());
  add(Loop::pod, {Kind::pods, name_space, pod});
  store_.poke();
}

void Controllers::Queue::add(const Key& key) {
  if (known_.insert(key).second) order_.push_back(key);
}

Key Controllers::Queue::take() {
  Key key = std::move(order_.front());
  order_.pop_front();
  known_.erase(key);
  return key;
}

bool Controllers::has_work() const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& one) { return !one.second.empty(); });
}

std::optional<Controllers::Work> Controllers::next_work() {
  if (Queue& first = queues_[Loop::name_space]; !first.empty())
    return Work{Loop::name_space, first.take()};
  Queue& new_ones = queues_[Loop::new_deployment];
  if (!new_ones.empty() && turns_before_new_ >= most_before_new) return take_new();
  // The queues take turns: the one after the queue that was served last comes first.
  auto at = queues_.upper_bound(last_);
  for (size_t i = 0; i < queues_.size(); ++i, ++at) {
    if (at == queues_.end()) at = queues_.begin();
    if (at->first == Loop::new_deployment || at->second.empty()) continue;
    last_ = at->first;
    turns_before_new_ = new_ones.empty() ? 0 : turns_before_new_ + 1;
    return Work{at->first, at->second.take()};
  }
  if (new_ones.empty()) return std::nullopt;
  return take_new();
}

Controllers::Work Controllers::take_new() {
  turns_before_new_ = 0;
  return {Loop::deployment, queues_[Loop::new_deployment].take()};
}

void Controllers::run() {
  while (true) {
    Lock lock(store_.mutex());
    wait(lock);
    const Moment turn_ends = std::chrono::steady_clock::now() + longest_turn;
    for (Moment now = Moment::min(); now < turn_ends;) {
      if (store_.stopped()) return;
      if (paused_) break;
      now = std::chrono::steady_clock::now();
      take_due(now);
      const auto next = next_work();
      if (!next) break;
      process(*next, now);
      notice_changes(lock, Moment::min());
    }
    // Nobody has seen what was done in this turn: after a crash it is known, or wasn't seen.
    store_.save();
  }
}

void Controllers::wait(Lock& lock) {
  Moment until = std::chrono::steady_clock::now() + longest_sleep;
  if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
  if (has_work()) until = Moment::min();
  if (paused_) until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  if (!store_.rests()) until = std::min(until, std::chrono::steady_clock::now() + quiet_time);
  notice_changes(lock, until);
  if (!store_.rests() && std::chrono::steady_clock::now() - last_work_ >= quiet_time) store_.rest();
}

void Controllers::notice_changes(Lock& lock, Moment until) {
  const auto changes = store_.take_changes(lock, until);
  if (!changes.empty()) last_work_ = std::chrono::steady_clock::now();
  for (const Notice& change : changes) notice(change);
}

void Controllers::process(const Work& next, Moment now) {
  try {
    schedule(next, work(next, now));
  } catch (const std::exception& failure) {
    log::error("a controller of the embedded cluster failed",
               {{"object", next.second.name}, {"error", failure.what()}});
    schedule(next, now + std::chrono::seconds(1));
  }
}

void Controllers::schedule(const Work& work, std::optional<Moment> due) {
  if (const auto old = due_.find(work); old != due_.end()) {
    timers_.erase({old->second, work});
    due_.erase(old);
  }
  if (!due) return;
  timers_.insert({*due, work});
  due_[work] = *due;
}

void Controllers::take_due(Moment now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const Work work = timers_.begin()->second;
    timers_.erase(timers_.begin());
    due_.erase(work);
    add(work.first, work.second);
  }
}

void Controllers::add_owners(const Json& object, Kind kind, Loop loop) {
  for (const Json& owner : at_path(object, "/metadata/ownerReferences"))
    if (text_at(owner, "kind") == type_of(kind).kind)
      add(loop, {kind, namespace_of(object), text_at(owner, "name")});
}

void Controllers::notice(const Notice& change) {
  const Key& key = change.key;
  switch (key.kind) {
    case Kind::pods:
      notice_pod(change);
      break;
    case Kind::deployments:
      add(change.type == ChangeType::added ? Loop::new_deployment : Loop::deployment, key);
      if (change.type == ChangeType::deleted) deployments_.forget(uid_of(*change.object));
      break;
    case Kind::replica_sets:
      add(Loop::replica_set, key);
      add_owners(*change.object, Kind::deployments, Loop::deployment);
      if (change.type == ChangeType::deleted) replica_sets_.forget(uid_of(*change.object));
      break;
    case Kind::jobs:
      add(Loop::job, key);
      if (change.type == ChangeType::deleted) jobs_.forget(uid_of(*change.object));
      if (change.type != ChangeType::modified) add_quotas(key.name_space);
      break;
    case Kind::namespaces:
      add(Loop::name_space, key);
      if (change.type == ChangeType::deleted) kubelet_.namespace_deleted(key.name);
      break;
    case Kind::network_policies:
      kubelet_.policies_changed(key.name_space);
      break;
    case Kind::certificates:
      add(Loop::certificate, key);
      if (change.type == ChangeType::deleted) certificates_.forget(uid_of(*change.object));
      break;
    case Kind::resource_quotas:
      add_quotas(key.name_space);
      // Pods that were refused may now fit into the quota.
      for (const Key& set : replica_sets_.failing(key.name_space)) add(Loop::replica_set, set);
      break;
    default:
      if (key.kind == Kind::secrets) notice_secret(change);
      if (change.type != ChangeType::modified && key.kind != Kind::events &&
          type_of(key.kind).namespaced())
        add_quotas(key.name_space);
      break;
  }
  if (!at_path(*change.object, "/metadata/ownerReferences").is_null() ||
      !at_path(*change.object, "/metadata/finalizers").is_null())
    add(Loop::garbage, key);
  if (change.type != ChangeType::deleted) return;
  for (const Key& dependent : store_.dependents(uid_of(*change.object)))
    add(Loop::garbage, dependent);
  for (const Json& owner : at_path(*change.object, "/metadata/ownerReferences"))
    if (const Type* type = type_of_object(owner))
      add(Loop::garbage,
          {type->id, type->namespaced() ? key.name_space : "", text_at(owner, "name")});
  const ObjectPtr home = store_.find({Kind::namespaces, "", key.name_space});
  if (home && !at_path(*home, "/metadata/deletionTimestamp").is_null())
    add(Loop::name_space, {Kind::namespaces, "", key.name_space});
}

// If a certificate's secret is deleted, the certificate is issued again.
void Controllers::notice_secret(const Notice& change) {
  if (change.type != ChangeType::deleted) return;
  for (const ObjectPtr& one : store_.list(Kind::certificates, change.key.name_space))
    if (text_at(at_path(*one, "/spec"), "secretName") == change.key.name)
      add(Loop::certificate, {Kind::certificates, change.key.name_space, name_of(*one)});
}

void Controllers::notice_pod(const Notice& change) {
  const Key& key = change.key;
  // Of a pod's spec, nothing changes but its containers' resources.
  const bool is_resized =
      change.type == ChangeType::modified && at_path(*change.object, "/metadata/generation") !=
                                                 at_path(*change.previous, "/metadata/generation");
  add_owners(*change.object, Kind::replica_sets, Loop::replica_set);
  add_owners(*change.object, Kind::jobs, Loop::job);
  if (change.type == ChangeType::deleted) {
    kubelet_.forget(*change.object);
    replica_sets_.forget(uid_of(*change.object));
    // A Recreate rollout waits until the last old pod is gone.
    for (const Json& owner : at_path(*change.object, "/metadata/ownerReferences"))
      if (const ObjectPtr set =
              store_.find({Kind::replica_sets, key.name_space, text_at(owner, "name")}))
        add_owners(*set, Kind::deployments, Loop::deployment);
  } else if (change.type == ChangeType::added || is_resized ||
             at_path(*change.object, "/metadata/deletionTimestamp") !=
                 at_path(*change.previous, "/metadata/deletionTimestamp")) {
    add(Loop::pod, key);
  }
  const bool counted_otherwise = change.type != ChangeType::modified || is_resized ||
                                 phase_of(change.object) != phase_of(change.previous);
  if (counted_otherwise && store_.count(Kind::resource_quotas, key.name_space) > 0)
    add_quotas(key.name_space);
}

std::optional<Moment> Controllers::work(const Work& work, Moment now) {
  const auto& [loop, key] = work;
  switch (loop) {
    case Loop::deployment:
    case Loop::new_deployment:
      return deployments_.reconcile(key, now);
    case Loop::replica_set:
      return replica_sets_.reconcile(key, now);
    case Loop::job:
      return jobs_.reconcile(key, now);
    case Loop::pod:
      return kubelet_.reconcile(key, now);
    case Loop::certificate:
      return certificates_.reconcile(key, now);
    case Loop::garbage:
      collector_.reconcile(key);
      break;
    case Loop::name_space:
      collector_.reconcile_namespace(key.name);
      break;
    case Loop::quota:
      count_quotas(key.name_space);
      break;
  }
  return std::nullopt;
}

void Controllers::count_quotas(const std::string& name_space) {
  for (const ObjectPtr& quota : store_.list(Kind::resource_quotas, name_space)) {
    Json status = quota_status(store_, *quota);
    if (status == at_path(*quota, "/status")) continue;
    Json next = *quota;
    next["status"] = std::move(status);
    registry_.write_status({Kind::resource_quotas, name_space, name_of(*quota)}, std::move(next),
                           "kube-controller-manager");
  }
}

}  // namespace berth::embedded
