#include "reconcilers/cluster/deployment.h"

#include <algorithm>

#include "controller/base/log.h"
#include "controller/base/sooner.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/runs/releases.h"
#include "reconcilers/cluster/custom_domain_objects.h"
#include "reconcilers/cluster/failures.h"
#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/release_gate.h"

namespace berth::reconcilers {
namespace {

using deployments::Deployment;
using deployments::DesiredState;
using deployments::Observation;
using deployments::Status;

// An administrator may change an admission policy or a quota without any event reaching us, so a
// refused deployment is tried again after this time.
constexpr std::chrono::milliseconds after_refusal{30'000};
// How long an API server usually takes to act on a new RoleBinding. Until then it refuses.
constexpr std::chrono::milliseconds rights_take_effect{250};
constexpr const char* waiting_for_certificate = "waiting for the certificate";

bool is_wanted(const Tracked& tracked, const std::vector<Object>& desired) {
  const std::string name = name_of(*tracked.object);
  return std::any_of(desired.begin(), desired.end(), [&](const Object& object) {
    return text_at(object, {"kind"}) == tracked.resource->kind && name_of(object) == name;
  });
}

bool is_deployment(const Object& object) {
  return text_at(object, {"kind"}) == kube::deployments.kind;
}

// Of the Deployments on the cluster, the one that `desired` is to replace; null if there is none.
const Object& present(const std::vector<ObjectPtr>& current, const Object& desired) {
  static const Object none;
  const auto found = std::ranges::find_if(
      current, [&](const ObjectPtr& one) { return name_of(*one) == name_of(desired); });
  return found == current.end() ? none : **found;
}

std::string reason_of(const Observation& seen) {
  return seen.reason ? std::string(to_string(*seen.reason)) : "";
}

// Returns nothing if the name servers don't answer, because the domain may be right then.
std::optional<deployments::Reason> reason_of(custom_domains::Reason reason) {
  switch (reason) {
    case custom_domains::Reason::dns_not_pointing:
    case custom_domains::Reason::txt_missing:
      return deployments::Reason::dns_not_pointing;
    case custom_domains::Reason::dns_unreachable:
      return std::nullopt;
    case custom_domains::Reason::domain_taken:
      return deployments::Reason::domain_taken;
    case custom_domains::Reason::certificate_failed:
      return deployments::Reason::certificate_failed;
    case custom_domains::Reason::order_budget:
      return deployments::Reason::certificate_pending;
  }
  return std::nullopt;
}

// Puts a problem of the custom domain into the status of a deployment that runs without another
// problem.
void add_domain(Observation& seen, const std::optional<custom_domains::Claim>& claim) {
  if (seen.status != Status::running || seen.reason || !claim || !claim->reason) return;
  seen.reason = reason_of(*claim->reason);
  seen.message = claim->message;
  if (seen.reason == deployments::Reason::certificate_pending) seen.phase = waiting_for_certificate;
}

// Reports that somebody else keeps changing an object, and that berth reverts the changes only once
// in a while.
void add_fight(Seen& seen, const std::optional<FoughtOver>& fight) {
  if (!fight) return;
  seen.look_again = sooner(seen.look_again, fight->until_settled);
  if (seen.observation.reason || seen.observation.status == Status::stopped) return;
  seen.observation.reason = deployments::Reason::changed_by_others;
  seen.observation.message = "somebody else keeps changing or deleting the " + fight->object +
                             "; berth sets it right every " +
                             std::to_string(RepairBudget::refill.count()) + " seconds";
}

}  // namespace

// The desired state of a deployment, and the newest claim of its custom domain.
struct DeploymentLoop::Wanted {
  DesiredState state;
  std::optional<custom_domains::Claim> domain;
};

DeploymentLoop::DeploymentLoop(Parts parts)
    : parts_(std::move(parts)),
      applier_(parts_.client, parts_.cache),
      secrets_(parts_.client, parts_.cache),
      tenancy_(parts_.database, parts_.client, parts_.cache, applier_, parts_.settings),
      removal_(parts_.database, parts_.client, parts_.cache, tenancy_, parts_.settings,
               parts_.wake),
      certificates_(parts_.database, parts_.cache) {}

Outcome DeploymentLoop::reconcile(const std::string& id, Subject& subject) {
  const auto row = parts_.database.read([&](db::Tx& tx) {
    auto found = deployments::find(tx, id);
    parts_.runs.look(tx, id, found ? &*found : nullptr);
    return found;
  });
  if (!row) return orphan(id);
  subject = {manifests::namespace_of(row->app_id), row->generation, row->request_id};
  if (!parts_.cache.synced()) return without_cache(*row);
  const KeyedMutex::Lock lock(parts_.deployments, id);
  Outcome outcome;
  try {
    outcome = row->status == Status::destroyed ? remove(*row) : make(*row);
  } catch (const kube::Fenced&) {
    throw;  // another process leads, and tells the meter
  } catch (const std::exception&) {
    // Whatever fails, what runs is recorded: nobody runs things for nothing, or keeps the others'
    // days from being charged, with a deployment that can't be made.
    record_runs(id);
    throw;
  }
  record_runs(id);
  if (outcome.kind == Outcome::Kind::removed || row->removed_at) parts_.runs.nothing_is_left(id);
  const std::lock_guard done(mutex_);
  failing_since_.erase(id);
  return outcome;
}

Outcome DeploymentLoop::stand_by(const std::string& id, Subject& subject) {
  const auto row = parts_.database.read([&](db::Tx& tx) { return deployments::find(tx, id); });
  if (!row) return {};
  subject = {manifests::namespace_of(row->app_id), row->generation, row->request_id};
  if (!parts_.cache.state().connected) return without_cache(*row);
  return {Outcome::Kind::waiting, 0, {}, "another process leads", false};
}

Outcome DeploymentLoop::remove(const Deployment& row) {
  certificates_.forget(row.id);
  parts_.images.forget(row.id);
  {
    const std::lock_guard lock(mutex_);
    resizing_since_.erase(row.id);
  }
  tenancy_.bind_rights(row.app_id);
  Outcome outcome = removal_.step(row);
  if (outcome.kind == Outcome::Kind::waiting) {
    const std::lock_guard lock(mutex_);
    waiting_for_namespace_[row.app_id].insert(row.id);
  }
  if (outcome.kind == Outcome::Kind::removed)
    app_changed(row.app_id);  // the removal freed quota for the app's other deployments
  return outcome;
}

// A deployment applies its Ingress while it holds a lock on its name, and reads its desired state
// under that lock. So a deployment that was destroyed in the meantime can't take the host name back
// from the next owner of the name.
Outcome DeploymentLoop::make(const Deployment& row) {
  const KeyedMutex::Lock lock(names_, row.name);
  auto latest = wanted(row.id);
  if (!latest || latest->state.deployment.status == Status::destroyed)
    return {};  // the change that destroyed it has already queued the id
  return make_under_lock(*latest);
}

std::optional<DeploymentLoop::Wanted> DeploymentLoop::wanted(const std::string& id) {
  return parts_.database.read([&](db::Tx& tx) -> std::optional<Wanted> {
    auto state = deployments::desired_state(tx, id, parts_.data_key);
    if (!state) return std::nullopt;
    return Wanted{.state = std::move(*state), .domain = custom_domains::newest(tx, id)};
  });
}

Outcome DeploymentLoop::make_under_lock(Wanted& wanted) {
  DesiredState& state = wanted.state;
  try {
    state.host_is_held = state.host_is_held && is_held_by_another(state.deployment);
    return apply_and_observe(wanted);
  } catch (const kube::ApiError& error) {
    return on_failure(state.deployment, error);
  }
}

Outcome DeploymentLoop::apply_and_observe(Wanted& wanted) {
  DesiredState& state = wanted.state;
  const Deployment& row = state.deployment;
  if (auto held = hold_back(row)) return *std::move(held);
  const Tenancy::Made tenant = tenancy_.make(row.app_id);
  if (!tenant.ready) return wait_for_namespace(row);
  if (tenant.rights_are_new)
    return {Outcome::Kind::applied, tenant.result.applied, rights_take_effect, "", false};
  Applier::Result result = tenant.result;
  std::vector<Resizing> resizings;
  std::vector<Object> desired = desired_objects(state, resizings);
  keep_serving_unlabelled(row.id, desired);
  if (is_too_early(row.id, desired))
    return Outcome::waiting("the serving container is too new for another rollout", look_again);
  if (auto stopped = check_image(state, desired)) return *std::move(stopped);
  const Resized resized = resize(row, resizings);
  result.applied += resized.writes;
  if (resized.is_given_up)
    return {Outcome::Kind::waiting, resized.writes, std::chrono::milliseconds(0),
            "the containers to be replaced for their size", true};
  // A release belongs to a rollout, which a change of size in place isn't.
  const bool is_in_place = (row.resized == deployments::Resize::in_place || !resizings.empty()) &&
                           !starts_containers(row.id, desired);
  if (auto waits = is_in_place ? std::nullopt : wait_for_release(row)) {
    keep_paths(row.id, desired);
    waits->writes += add_containers(row.id, desired);
    return *std::move(waits);
  }
  result.applied += secrets_.write(desired);
  std::vector<Object> applicable = desired;
  std::erase_if(applicable, is_secret);
  // A role that was made for an earlier version may not name them; then nothing else has to wait.
  if (!parts_.cache.serves(kube::pod_disruption_budgets))
    std::erase_if(applicable, [](const Object& object) {
      return text_at(object, {"kind"}) == kube::pod_disruption_budgets.kind;
    });
  const auto admission = certificates_.admit(row, applicable);
  result.add(applier_.apply(applicable, Applier::Missing::created));
  result.again = sooner(result.again, admission.again);
  result.applied += remove_unwanted(row.id, desired);

  Seen seen = observe(row, look(row.id), parts_.patience, system_time());
  if (state.host_is_held && deployments::is_served(row.container)) {
    if (seen.observation.status == Status::running && !seen.observation.reason) {
      seen.observation.status = Status::deploying;
      seen.observation.phase = "waiting for the host name";
    }
    seen.look_again = sooner(seen.look_again, look_again);
  }
  if (resized.is_under_way) {
    // One that is added to others doesn't make a running deployment a deploying one.
    if (row.status != Status::running && seen.observation.status == Status::running &&
        !seen.observation.reason) {
      seen.observation.status = Status::deploying;
      seen.observation.phase = "resizing";
    }
    seen.look_again = sooner(seen.look_again, look_again);
  }
  add_certificate(seen, wanted, desired, admission.held_back);
  add_domain(seen.observation, wanted.domain);
  add_fight(seen, result.fought_over);
  const bool recorded = record(row, seen.observation);
  // The quota can shrink now, if no other deployment of the app needs the room.
  if (recorded && tenant.quota_is_wide && seen.observation.status == Status::running)
    seen.look_again = sooner(seen.look_again, std::chrono::milliseconds(0));
  return {result.applied > 0 ? Outcome::Kind::applied : Outcome::Kind::unchanged, result.applied,
          sooner(seen.look_again, result.again), reason_of(seen.observation), recorded};
}

// Where the tier leaves open whether the pod has a user namespace, what runs keeps what it has: a
// container is replaced only if something else about it has changed.
std::vector<Object> DeploymentLoop::desired_objects(DesiredState& state) {
  auto& choice = state.confinement.user_namespaces;
  const auto made = [&] { return manifests::of_deployment(state, parts_.settings); };
  if (choice) return made();
  choice = !state.confinement.runtime_class && parts_.has_user_namespaces();
  std::vector<Object> desired = made();
  const auto current = parts_.cache.store(kube::deployments).of_deployment(state.deployment.id);
  // How many processes there are whose containers would be replaced.
  const auto replaced = [&](const std::vector<Object>& objects) {
    return std::ranges::count_if(objects, [&](const Object& object) {
      if (!is_deployment(object)) return false;
      const Object& live = present(current, object);
      return !live.is_null() && starts_container(live, object);
    });
  };
  if (state.confinement.runtime_class || replaced(desired) == 0) return desired;
  choice = !*choice;
  std::vector<Object> other = made();
  if (replaced(other) < replaced(desired)) return other;
  choice = !*choice;  // whoever makes them again with the state gets the same
  return desired;
}

std::vector<Object> DeploymentLoop::desired_objects(DesiredState& state,
                                                    std::vector<Resizing>& resizings) {
  const std::string& id = state.deployment.id;
  const auto current = parts_.cache.store(kube::deployments).of_deployment(id);
  resizings = resizings_of(state, current, containers_of(parts_.cache, id));
  for (const Resizing& one : resizings) state.template_sizes[one.process] = one.in_template;
  std::vector<Object> desired = desired_objects(state);
  if (resizings.empty()) return desired;
  // A process that has to be replaced for another reason gets its size by that.
  const size_t replaced = std::erase_if(resizings, [&](const Resizing& one) {
    return std::ranges::any_of(desired, [&](const Object& object) {
      return is_deployment(object) && manifests::process_of(object) == one.process &&
             starts_container(present(current, object), object);
    });
  });
  if (replaced == 0) return desired;
  state.template_sizes.clear();
  for (const Resizing& one : resizings) state.template_sizes[one.process] = one.in_template;
  return manifests::of_deployment(state, parts_.settings);
}

bool DeploymentLoop::starts_containers(const std::string& id,
                                       const std::vector<Object>& desired) const {
  const auto current = parts_.cache.store(kube::deployments).of_deployment(id);
  return std::ranges::any_of(desired, [&](const Object& object) {
    return is_deployment(object) && starts_container(present(current, object), object);
  });
}

bool DeploymentLoop::serves_resize() {
  const Object core = Object::parse(parts_.client.raw("/api/v1"), nullptr, false);
  return std::ranges::any_of(field(core, {"resources"}), [](const Object& resource) {
    return text_at(resource, {"name"}) == "pods/resize";
  });
}

std::string DeploymentLoop::ask_for_size(const Deployment& row, const Resizing& resizing,
                                         int& writes) {
  for (const ObjectPtr& pod : resizing.pods) {
    try {
      parts_.cache.note(parts_.client.resize(namespace_of(*pod), name_of(*pod),
                                             manifests::container_name,
                                             manifests::changeable_resources(resizing.wanted)));
      ++writes;
    } catch (const kube::ApiError& error) {
      const bool is_for_ever = error.status >= 400 && error.status < 500 && error.status != 409 &&
                               error.status != 429 && !waits_for_rights(row, error);
      if (!is_for_ever) throw;
      // The pod may be gone; its event is on its way.
      if (error.status == 404 && serves_resize()) continue;
      return error.what();
    }
  }
  return "";
}

DeploymentLoop::Resized DeploymentLoop::resize(const Deployment& row,
                                               const std::vector<Resizing>& resizings) {
  using deployments::Resize;
  const auto now = std::chrono::steady_clock::now();
  Resized done;
  std::string refusal;
  for (const Resizing& one : resizings) {
    if (refusal.empty()) refusal = one.refusal;
    if (refusal.empty()) refusal = ask_for_size(row, one, done.writes);
    done.is_under_way = done.is_under_way || one.is_under_way;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!done.is_under_way) {
      resizing_since_.erase(row.id);
    } else {
      ResizingSince& since = resizing_since_[row.id];
      if (since.generation != row.generation) since = {row.generation, now};
      if (refusal.empty() && now - since.at > parts_.patience.resizing)
        refusal = "the node hasn't done it in time";
      if (!refusal.empty()) resizing_since_.erase(row.id);
    }
  }
  done.is_given_up = !refusal.empty();
  const Resize how = done.is_given_up ? Resize::rollout : Resize::in_place;
  if (resizings.empty() || row.resized == how) return done;
  std::vector<std::string> replaced;
  for (const Resizing& one : resizings)
    if (done.is_given_up && one.is_under_way) replaced.push_back(one.process);
  parts_.database.write([&](db::Tx& tx) {
    return deployments::record_resize(tx, row.id, row.generation, how, replaced);
  });
  if (done.is_given_up)
    log::info("containers are replaced, because they can't get another size while they run",
              {{"deployment", row.id}, {"reason", refusal}});
  return done;
}

// The pods that serve when berthd is upgraded to a version with processes lack the label by which
// the Service selects. They have to be found until the rollout has ended them: if it fails, they
// serve on.
void DeploymentLoop::keep_serving_unlabelled(const std::string& id, std::vector<Object>& desired) {
  const auto pods = parts_.cache.store(kube::pods).of_deployment(id);
  const bool any = std::ranges::any_of(pods, [](const ObjectPtr& pod) {
    return label_of(*pod, manifests::process_label).empty() && !is_being_deleted(*pod) &&
           !is_over(*pod) && !manifests::process_of(*pod).empty();
  });
  if (!any) return;
  for (Object& object : desired)
    if (text_at(object, {"kind"}) == kube::services.kind) manifests::select_unlabelled(object);
}

// Until the cache is complete nothing can be done. If the cluster is unreachable, the row records
// that as the reason, so that its owner can see it.
Outcome DeploymentLoop::without_cache(const Deployment& row) {
  const bool waits = row.status == Status::pending || row.status == Status::deploying;
  const Observation seen = unreachable(row);
  // Nothing is told to the meter, because this process may not lead.
  if (waits && !parts_.cache.state().last_error.empty() && deployments::differs(row, seen))
    parts_.database.write(
        [&](db::Tx& tx) { return deployments::record(tx, row.id, row.generation, seen); });
  return Outcome::waiting("the cluster", look_again);
}

std::optional<Outcome> DeploymentLoop::hold_back(const Deployment& row) {
  if (!parts_.why_new_ones_wait) return std::nullopt;
  const std::string why = parts_.why_new_ones_wait();
  if (why.empty()) return std::nullopt;
  if (!parts_.cache.store(kube::deployments).of_deployment(row.id).empty()) return std::nullopt;
  return refuse(row, held_back(row, why), after_refusal);
}

std::optional<Outcome> DeploymentLoop::check_image(const DesiredState& state,
                                                   const std::vector<Object>& desired) {
  if (!parts_.images.is_on()) return std::nullopt;
  const Deployment& row = state.deployment;
  const auto current = parts_.cache.store(kube::deployments).of_deployment(row.id);
  if (!starts_containers(row.id, desired)) {
    parts_.images.forget(row.id);
    return std::nullopt;
  }
  ImageCheck::Question question{.deployment_id = row.id,
                                .owner_id = row.owner_id,
                                .generation = row.generation,
                                .image = row.container.image,
                                .credentials = {}};
  if (const auto& credentials = state.secrets.registry_credentials)
    question.credentials = {credentials->username, credentials->password};
  const auto answer = parts_.images.answer(question);
  if (!answer) {
    if (current.empty() && !row.reason) record(row, waiting(row, "checking the image"));
    return Outcome::waiting("the registry's answer about the image", look_again);
  }
  if (!answer->refusal) return std::nullopt;
  const auto& [reason, message, again] = *answer->refusal;
  return refuse(row, refused(row, look(row.id), {reason, message}), again);
}

void DeploymentLoop::keep_paths(const std::string& id, std::vector<Object> desired) {
  if (parts_.cache.store(kube::deployments).of_deployment(id).empty()) return;
  std::erase_if(desired, [](const Object& object) {
    const std::string kind = text_at(object, {"kind"});
    return kind != kube::services.kind && kind != kube::network_policies.kind &&
           kind != kube::ingresses.kind;
  });
  applier_.apply(desired, Applier::Missing::created);
}

int DeploymentLoop::add_containers(const std::string& id, const std::vector<Object>& desired) {
  const auto current = parts_.cache.store(kube::deployments).of_deployment(id);
  int writes = 0;
  for (const Object& object : desired) {
    if (!is_deployment(object)) continue;
    const Object& live = present(current, object);
    const auto wanted = number_at(object, {"spec", "replicas"});
    if (live.is_null() || is_being_deleted(live) || number_at(live, {"spec", "replicas"}) >= wanted)
      continue;
    parts_.cache.note(parts_.client.merge(
        {{"apiVersion", kube::deployments.api_version},
         {"kind", kube::deployments.kind},
         {"metadata",
          {{"name", name_of(live)}, {"namespace", namespace_of(live)}, {"uid", uid_of(live)}}},
         {"spec", {{"replicas", wanted}}}}));
    ++writes;
  }
  return writes;
}

std::optional<Outcome> DeploymentLoop::wait_for_release(const Deployment& row) {
  auto release = parts_.database.read([&](db::Tx& tx) { return releases::release_of(tx, row); });
  if (release.state == releases::State::needed) {
    const std::int64_t needed = release.generation;
    release = parts_.database.write([&](db::Tx& tx) { return releases::begin(tx, row.id); });
    // Meanwhile it was stopped, or changed to have no release. The row's rollout has had none.
    if (release.generation != needed)
      return Outcome::waiting("the newest generation to be looked at", look_again);
  }
  if (release.lets_rollout_go_on()) return std::nullopt;
  if (release.state == releases::State::failed)
    return refuse(row, release_failed(row, look(row.id), releases::message_of(*release.run)),
                  std::nullopt);
  const bool recorded = record(row, releasing(row, look(row.id)));
  // The end of the command wakes the deployment.
  return Outcome{Outcome::Kind::waiting, 0, after_refusal, "the release command", recorded};
}

Outcome DeploymentLoop::refuse(const Deployment& row, const Observation& seen,
                               std::optional<std::chrono::milliseconds> again) {
  const bool recorded = record(row, seen);
  return {Outcome::Kind::refused, 0, again, reason_of(seen), recorded};
}

Outcome DeploymentLoop::wait_for_namespace(const Deployment& row) {
  {
    const std::lock_guard lock(mutex_);
    waiting_for_namespace_[row.app_id].insert(row.id);
  }
  record(row, waiting(row, "waiting for namespace"));
  return Outcome::waiting("the namespace is being deleted", look_again);
}

Outcome DeploymentLoop::on_failure(const Deployment& row, const kube::ApiError& error) {
  switch (meaning_of(error)) {
    case Failure::leaving:
      return wait_for_namespace(row);
    case Failure::refused: {
      if (waits_for_rights(row, error)) throw;
      const Trouble trouble{deployments::Reason::cluster_refused, error.what()};
      return refuse(row, refused(row, look(row.id), trouble), after_refusal);
    }
    case Failure::unreachable:
      // The row is written at most once while it is pending or deploying, because the message
      // doesn't change. An unreachable cluster therefore causes no flood of writes.
      if (row.status == Status::pending || row.status == Status::deploying)
        record(row, unreachable(row));
      throw;
    case Failure::busy:
      on_busy(row, error);
      throw;
  }
  throw;
}

// Shows the owner an error of the API server that lasts. The row is written only if the message has
// changed.
void DeploymentLoop::on_busy(const Deployment& row, const kube::ApiError& error) {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto since = failing_since_.try_emplace(row.id, now).first->second;
    if (now - since < parts_.patience.writing) return;
  }
  if (row.reason && row.reason != deployments::Reason::cluster_refuses_writes &&
      row.reason != deployments::Reason::cluster_unreachable)
    return;
  record(row, writes_refused(row, who_fails(error) + " fails, with the status " +
                                      std::to_string(error.status) + ": " + error.what()));
}

void DeploymentLoop::add_certificate(Seen& seen, const Wanted& wanted,
                                     const std::vector<Object>& desired,
                                     const std::optional<Trouble>& held_back) {
  Observation& observation = seen.observation;
  if (observation.status != Status::running || observation.reason || wanted.state.host_is_held)
    return;
  const auto trouble =
      held_back ? held_back : certificates_.trouble(wanted.state.deployment, desired);
  if (!trouble) return;
  observation.reason = trouble->reason;
  observation.message = trouble->message;
  if (trouble->reason == deployments::Reason::certificate_pending)
    observation.phase = waiting_for_certificate;
}

// The API server takes a moment to act on a new RoleBinding.
bool DeploymentLoop::waits_for_rights(const Deployment& row, const kube::ApiError& error) const {
  return error.status == 403 && tenancy_.has_new_rights(row.app_id, system_time());
}

Outcome DeploymentLoop::orphan(const std::string& id) {
  const bool exists = parts_.cache.synced() && !parts_.cache.of_deployment(id).empty();
  const std::lock_guard lock(mutex_);
  if (!exists) {
    orphans_.erase(id);
    return {};
  }
  if (orphans_.insert(id).second)
    log::warning("objects without a row in the database are left alone",
                 {{"deployment", id}, {"orphans", orphans_.size()}});
  return {Outcome::Kind::orphaned, 0, {}, "", false};
}

bool DeploymentLoop::is_held_by_another(const Deployment& row) {
  const kube::ListOptions same_name = {.name_space = "",
                                       .label_selector = manifests::selector(parts_.settings) +
                                                         ",app.kubernetes.io/name=" + row.name,
                                       .field_selector = ""};
  const auto ingresses = parts_.client.list(kube::ingresses, same_name).items;
  return std::any_of(ingresses.begin(), ingresses.end(), [&](const Object& ingress) {
    return label_of(ingress, manifests::deployment_label) != row.id;
  });
}

int DeploymentLoop::remove_unwanted(const std::string& id, const std::vector<Object>& desired) {
  int removed = 0;
  for (const Tracked& tracked : parts_.cache.of_deployment(id)) {
    if (tracked.resource->kind == kube::pods.kind || is_being_deleted(*tracked.object)) continue;
    if (tracked.resource->kind == kube::jobs.kind) continue;  // the loop of Jobs removes them
    // Until a rollout without an identity is over, containers of the one before may have to be
    // replaced, which takes their account. It has no rights, and goes with the deployment.
    if (tracked.resource->kind == kube::service_accounts.kind) continue;
    if (is_wanted(tracked, desired) || is_of_domain(*tracked.object)) continue;
    const Object& object = *tracked.object;
    parts_.client.remove(*tracked.resource, namespace_of(object), name_of(object), uid_of(object));
    ++removed;
    // cert-manager leaves the secret behind. It would order a new one if the Certificate were
    // there.
    if (tracked.resource->kind == kube::certificates.kind)
      removed += secrets_.remove(namespace_of(object), {text_at(object, {"spec", "secretName"})});
  }
  return removed;
}

bool DeploymentLoop::is_too_early(const std::string& id, const std::vector<Object>& desired) {
  const auto current = parts_.cache.store(kube::deployments).of_deployment(id);
  if (current.empty()) return false;
  const auto pods = containers_of(parts_.cache, id);
  return std::ranges::any_of(desired, [&](const Object& object) {
    if (!is_deployment(object)) return false;
    std::vector<ObjectPtr> own = pods;
    std::erase_if(own, [&](const ObjectPtr& pod) {
      return manifests::process_of(*pod) != manifests::process_of(object);
    });
    return must_wait(present(current, object), own, object);
  });
}

Live DeploymentLoop::look(const std::string& id) {
  Live live;
  for (const ObjectPtr& deployment : parts_.cache.store(kube::deployments).of_deployment(id))
    live.deployments.push_back(*deployment);
  const auto pods = containers_of(parts_.cache, id);
  for (const ObjectPtr& pod : pods) live.pods.push_back(*pod);
  const std::string name_space = pods.empty() ? "" : namespace_of(*pods.front());
  const auto asked = pods_with_questions(live, parts_.patience, system_time());
  for (const std::string& pod : asked) {
    try {
      live.events[pod] = parts_.client
                             .list(kube::events, {.name_space = name_space,
                                                  .label_selector = "",
                                                  .field_selector = "involvedObject.name=" + pod})
                             .items;
    } catch (const kube::ApiError& error) {
      log::debug("a pod's events couldn't be read", {{"deployment", id}, {"error", error.what()}});
    }
  }
  return live;
}

bool DeploymentLoop::record(const Deployment& row, const Observation& seen) {
  const bool differs = deployments::differs(row, seen);
  const auto news = parts_.runs.news(row.id);
  if (!differs && !news) return false;
  metering::Recorded metered;
  const bool stored = parts_.database.write([&](db::Tx& tx) {
    if (news) metered = RunRecorder::record(tx, *news);
    return differs && deployments::record(tx, row.id, row.generation, seen);
  });
  if (news) parts_.runs.recorded(*news, metered);
  return stored;
}

void DeploymentLoop::look_at_runs(const std::string& id) {
  const KeyedMutex::Lock lock(parts_.deployments, id, std::try_to_lock);
  if (!lock.owns()) return;  // its reconcile is under way or comes next, and ends with this
  parts_.database.read([&](db::Tx& tx) {
    const auto row = deployments::find(tx, id);
    parts_.runs.look(tx, id, row ? &*row : nullptr);
  });
  record_runs(id);
}

void DeploymentLoop::record_runs(const std::string& id) {
  const auto news = parts_.runs.news(id);
  if (!news) return;
  const metering::Recorded metered =
      parts_.database.write([&](db::Tx& tx) { return RunRecorder::record(tx, *news); });
  parts_.runs.recorded(*news, metered);
}

void DeploymentLoop::app_changed(const std::string& app_id) {
  std::set<std::string> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = waiting_for_namespace_.extract(app_id)) waiting = std::move(found.mapped());
  }
  // The namespace and the objects shared by an app are maintained by the reconciles of its living
  // deployments, so all of them are woken.
  const auto present = parts_.cache.deployments_in(manifests::namespace_of(app_id));
  waiting.insert(present.begin(), present.end());
  for (const std::string& id : waiting) parts_.wake(id);
}

std::set<std::string> DeploymentLoop::orphans() const {
  const std::lock_guard lock(mutex_);
  return orphans_;
}

}  // namespace berth::reconcilers
