#include "reconcilers/cluster/removal.h"

#include <algorithm>
#include <array>

namespace berth::reconcilers {
namespace {

// These kinds are deleted by the cluster's garbage collector together with their owner; we delete
// them only if that fails.
bool follows_its_owner(const kube::Resource& resource) {
  return resource.kind == kube::pods.kind || resource.kind == kube::replica_sets.kind;
}

bool has(const std::vector<Tracked>& objects, const kube::Resource& resource) {
  return std::any_of(objects.begin(), objects.end(), [&](const Tracked& tracked) {
    return tracked.resource->kind == resource.kind;
  });
}

// Ingresses are deleted first, which frees the host name.
void ingresses_first(std::vector<Tracked>& objects) {
  std::stable_partition(objects.begin(), objects.end(), [](const Tracked& tracked) {
    return tracked.resource->kind == kube::ingresses.kind;
  });
}

}  // namespace

Removal::Removal(db::Database& database, kube::Client& client, Cache& cache, Tenancy& tenancy,
                 const manifests::Settings& settings, std::function<void(const std::string&)> wake)
    : database_(database),
      client_(client),
      cache_(cache),
      tenancy_(tenancy),
      settings_(settings),
      secrets_(client, cache),
      wake_(std::move(wake)) {}

Outcome Removal::step(const deployments::Deployment& row) {
  std::vector<Tracked> left = cache_.of_deployment(row.id);
  if (left.empty() && row.removed_at) {
    forget(row.id);
    return {};
  }
  if (left.empty() && !progress_of(row.id).nothing_is_left) left = ask_for_rest(row);
  int writes = remove(left, row.id);
  if (!has(left, kube::ingresses)) free_host(row);
  // If a secret went before its Certificate, cert-manager would order the certificate again.
  if (!has(left, kube::certificates)) writes += remove_secrets(row);
  if (!left.empty())
    return {Outcome::Kind::waiting, writes, look_again, "objects are leaving", false};
  if (!tenancy_.remove_if_empty(row.app_id))
    return Outcome::waiting("the namespace is leaving", look_again);
  finish(row);
  return {Outcome::Kind::removed, 0, {}, "", true};
}

Removal::Progress Removal::progress_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return progress_[id];
}

int Removal::remove(const std::vector<Tracked>& objects, const std::string& id) {
  std::vector<Tracked> ordered = objects;
  ingresses_first(ordered);
  const bool late = SteadyClock::now() - progress_of(id).since > garbage_collector_time;
  int writes = 0;
  for (const Tracked& tracked : ordered) {
    const auto& [resource, object] = tracked;
    if (is_being_deleted(*object) || (follows_its_owner(*resource) && !late)) continue;
    client_.remove(*resource, namespace_of(*object), name_of(*object), uid_of(*object));
    ++writes;
  }
  return writes;
}

int Removal::remove_secrets(const deployments::Deployment& row) {
  if (progress_of(row.id).secrets_are_gone) return 0;
  const std::string name_space = manifests::namespace_of(row.app_id);
  std::vector<std::string> names = {manifests::object_name(row.id),
                                    manifests::registry_secret_name(row.id)};
  if (settings_.cluster_issuer) names.push_back(manifests::subdomain_secret_name(row.id));
  const int removed = secrets_.remove(name_space, names);
  const std::lock_guard lock(mutex_);
  progress_[row.id].secrets_are_gone = true;
  return removed;
}

std::vector<Tracked> Removal::ask_for_rest(const deployments::Deployment& row) {
  static constexpr std::array kinds = {&kube::ingresses,
                                       &kube::services,
                                       &kube::deployments,
                                       &kube::network_policies,
                                       &kube::certificates,
                                       &kube::replica_sets,
                                       &kube::jobs,
                                       &kube::pods,
                                       &kube::service_accounts,
                                       &kube::pod_disruption_budgets};
  const kube::ListOptions ours = {.name_space = manifests::namespace_of(row.app_id),
                                  .label_selector = manifests::selector(settings_, row.id),
                                  .field_selector = ""};
  std::vector<Tracked> rest;
  for (const kube::Resource* resource : kinds) {
    const bool may_be_missing = resource->kind == kube::certificates.kind ||
                                resource->kind == kube::jobs.kind ||
                                resource->kind == kube::pod_disruption_budgets.kind;
    if (may_be_missing && !cache_.serves(*resource)) continue;
    for (Object& object : client_.list(*resource, ours).items)
      rest.push_back({resource, std::make_shared<const Object>(std::move(object))});
  }
  const std::lock_guard lock(mutex_);
  progress_[row.id].nothing_is_left = rest.empty();
  return rest;
}

void Removal::free_host(const deployments::Deployment& row) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(progress_[row.id].host_is_free, true)) return;
  }
  wake_holder(row.name);
}

void Removal::finish(const deployments::Deployment& row) {
  if (!row.removed_at) database_.write([&](db::Tx& tx) { deployments::mark_removed(tx, row.id); });
  forget(row.id);
  wake_holder(row.name);
}

void Removal::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  progress_.erase(id);
}

void Removal::wake_holder(const std::string& name) {
  const auto holder =
      database_.read([&](db::Tx& tx) { return deployments::holder_of_name(tx, name); });
  if (holder) wake_(*holder);
}

}  // namespace berth::reconcilers
