#include "reconcilers/cluster/cache.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "manifests/manifests.h"

namespace berth::reconcilers {
namespace {

const std::vector<std::pair<const kube::Resource*, Need>> watched = {
    {&kube::namespaces, Need::always},
    {&kube::service_accounts, Need::always},
    {&kube::network_policies, Need::always},
    {&kube::limit_ranges, Need::always},
    {&kube::resource_quotas, Need::always},
    {&kube::services, Need::always},
    {&kube::deployments, Need::always},
    {&kube::ingresses, Need::always},
    {&kube::pods, Need::always},
    {&kube::certificates, Need::where_served},
    // A role of an older installation may not name them.
    {&kube::pod_disruption_budgets, Need::where_served},
    {&kube::role_bindings, Need::where_served},
    // A role that was made for an earlier version of berth may not have them.
    {&kube::jobs, Need::where_served},
};

}  // namespace

Cache::Cache(kube::Client& client, const std::string& label_selector, Listener listener)
    : listener_(std::move(listener)) {
  for (const auto& [resource, need] : watched) {
    informers_.push_back(std::make_unique<Informer>(
        client, *resource, need, label_selector,
        Informer::Listener{
            .changed = [this](const Object& object) { changed(object); },
            .connected = [this] { listener_.connected(); },
            .gone = resource->kind == kube::pods.kind ? listener_.pod_left : nullptr}));
  }
}

void Cache::start() {
  for (const auto& informer : informers_) informer->start();
}

void Cache::stop() {
  for (const auto& informer : informers_) informer->request_stop();
  for (const auto& informer : informers_) informer->join();
}

bool Cache::synced() const {
  if (!synced_)
    synced_ = std::all_of(informers_.begin(), informers_.end(),
                          [](const auto& informer) { return informer->state().synced; });
  return synced_;
}

ClusterState Cache::state() const {
  ClusterState all{
      .connected = true, .synced = true, .since = {}, .last_error = "", .informers = {}};
  for (const auto& informer : informers_) {
    const InformerState one = informer->state();
    all.synced = all.synced && one.synced;
    // The cache counts as connected since its last informer connected, and as disconnected since
    // its first informer lost contact.
    if (all.connected && !one.connected) {
      all.connected = false;
      all.since = one.since;
    } else if (all.connected == one.connected) {
      all.since = all.connected ? std::max(all.since, one.since) : std::min(all.since, one.since);
    }
    if (!one.connected && !one.last_error.empty()) all.last_error = one.last_error;
    all.informers.push_back(one);
  }
  return all;
}

InformerState Cache::state(const kube::Resource& resource) const {
  for (const auto& informer : informers_)
    if (informer->resource().kind == resource.kind) return informer->state();
  throw std::invalid_argument("there is no informer for " + std::string(resource.plural));
}

bool Cache::serves(const kube::Resource& resource) const {
  const auto found = std::ranges::find_if(
      informers_, [&](const auto& informer) { return informer->resource().kind == resource.kind; });
  return found != informers_.end() && (*found)->state().served;
}

Store& Cache::store(const kube::Resource& resource) const {
  for (const auto& informer : informers_)
    if (informer->resource().kind == resource.kind) return informer->store();
  throw std::invalid_argument("there is no informer for " + std::string(resource.plural));
}

ObjectPtr Cache::find(const Object& like) const {
  return store(kube::resource_of(like)).find(namespace_of(like), name_of(like));
}

void Cache::note(const Object& written) { store(kube::resource_of(written)).note(written); }

std::vector<Tracked> Cache::of_deployment(const std::string& id) const {
  std::vector<Tracked> found;
  for (const auto& informer : informers_) {
    if (!informer->state().served) continue;
    for (ObjectPtr& object : informer->store().of_deployment(id))
      found.push_back({&informer->resource(), std::move(object)});
  }
  return found;
}

std::vector<std::string> Cache::deployments() const {
  std::set<std::string> ids;
  for (const auto& informer : informers_) ids.merge(informer->store().deployments());
  return {ids.begin(), ids.end()};
}

std::vector<std::string> Cache::deployments_in(const std::string& name_space) const {
  std::set<std::string> ids;
  for (const auto& informer : informers_) ids.merge(informer->store().deployments_in(name_space));
  return {ids.begin(), ids.end()};
}

void Cache::drop_old_trees() {
  for (const auto& informer : informers_) informer->store().drop_old_trees();
}

void Cache::changed(const Object& object) const {
  if (!synced()) return;  // when the cache becomes complete, everything is queued anyway
  if (const std::string id = label_of(object, manifests::deployment_label); !id.empty())
    listener_.deployment_changed(id, object);
  else if (const std::string app = label_of(object, manifests::app_label); !app.empty())
    listener_.app_changed(app);
}

}  // namespace berth::reconcilers
