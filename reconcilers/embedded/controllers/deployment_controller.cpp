#include "reconcilers/embedded/controllers/deployment_controller.h"

#include <algorithm>
#include <cmath>

#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/controllers/rollout.h"

namespace berth::embedded {
namespace {

constexpr const char* deployment_component = "deployment-controller";
constexpr const char* hash_label = "pod-template-hash";
constexpr const char* revision_annotation = "deployment.kubernetes.io/revision";

std::int64_t wanted_of(const Json& object) { return number_at(object, "/spec/replicas", 0); }

std::int64_t revision_of(const Json& object) {
  const std::string text = text_at(at_path(object, "/metadata/annotations"), revision_annotation);
  return static_cast<std::int64_t>(parse_number<std::uint64_t>(text).value_or(0));
}

// A short text of the characters that pod names are made of.
std::string template_hash(const Json& pod_template) {
  static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (const char byte : sha256(pod_template.dump()).substr(0, 10))
    text += letters[static_cast<unsigned char>(byte) % letters.size()];
  return text;
}

Json owner_of(const Json& owner) {
  return {{"apiVersion", text_at(owner, "apiVersion")},
          {"kind", text_at(owner, "kind")},
          {"name", name_of(owner)},
          {"uid", uid_of(owner)},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace

DeploymentController::Counts DeploymentController::counts_of(const std::vector<ObjectPtr>& sets) {
  Counts counts{};
  for (const ObjectPtr& set : sets) {
    if (!set) continue;
    counts.wanted += wanted_of(*set);
    counts.replicas += number_at(*set, "/status/replicas", 0);
    counts.ready += number_at(*set, "/status/readyReplicas", 0);
    counts.available += number_at(*set, "/status/availableReplicas", 0);
  }
  return counts;
}

DeploymentController::Sets DeploymentController::sets_of(const Json& deployment) const {
  Sets sets;
  const std::string hash = template_hash(at_path(deployment, "/spec/template"));
  for (const Key& key : store_.dependents(uid_of(deployment))) {
    if (key.kind != Kind::replica_sets) continue;
    const ObjectPtr set = store_.find(key);
    if (!set || !at_path(*set, "/metadata/deletionTimestamp").is_null()) continue;
    if (text_at(at_path(*set, "/metadata/labels"), hash_label) == hash)
      sets.current = set;
    else
      sets.old.push_back(set);
  }
  std::sort(sets.old.begin(), sets.old.end(), [](const ObjectPtr& a, const ObjectPtr& b) {
    return revision_of(*a) < revision_of(*b);
  });
  return sets;
}

std::optional<Moment> DeploymentController::reconcile(const Key& key, Moment now) {
  const ObjectPtr deployment = store_.find(key);
  if (!deployment || !at_path(*deployment, "/metadata/deletionTimestamp").is_null())
    return std::nullopt;
  Sets sets = sets_of(*deployment);
  const bool paused = at_path(*deployment, "/spec/paused") == true;
  if (!paused) {
    if (!sets.current) sets.current = create_set(*deployment, sets, now);
    if (!sets.current) return now + timing_.second;
    annotate(*deployment, sets);
    if (text_at(at_path(*deployment, "/spec/strategy"), "type") == "Recreate")
      recreate(*deployment, sets);
    else
      roll(*deployment, sets);
    clean_up(*deployment, sets);
  } else if (sets.current) {
    scale(*deployment, sets.current, wanted_of(*deployment));
  }
  const ObjectPtr latest = store_.find(key);
  return latest ? report(key, *latest, sets_of(*latest), now) : std::nullopt;
}

ObjectPtr DeploymentController::create_set(const Json& deployment, const Sets& sets, Moment now) {
  Json pod_template = at_path(deployment, "/spec/template");
  const std::string hash = template_hash(pod_template);
  pod_template["metadata"]["labels"][hash_label] = hash;
  Json selector = at_path(deployment, "/spec/selector");
  selector["matchLabels"][hash_label] = hash;
  const bool rolling = text_at(at_path(deployment, "/spec/strategy"), "type") != "Recreate";
  const std::int64_t wanted = wanted_of(deployment);
  const RolloutBounds bounds = rollout_bounds(deployment);
  const std::int64_t room =
      std::max<std::int64_t>(0, wanted + bounds.surge - counts_of(sets.old).wanted);
  const std::int64_t replicas = rolling                            ? std::min(wanted, room)
                                : counts_of(sets.old).replicas > 0 ? 0
                                                                   : wanted;
  Json set{
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata",
       {{"name", name_of(deployment) + "-" + hash},
        {"labels", pod_template["metadata"]["labels"]},
        {"ownerReferences", {owner_of(deployment)}}}},
      {"spec",
       {{"replicas", replicas}, {"selector", std::move(selector)}, {"template", pod_template}}}};
  for (const auto& [key, value] : at_path(deployment, "/metadata/annotations").items())
    if (key != revision_annotation && key != "kubectl.kubernetes.io/last-applied-configuration")
      set["metadata"]["annotations"][key] = value;
  if (deployment["spec"].contains("minReadySeconds"))
    set["spec"]["minReadySeconds"] = deployment["spec"]["minReadySeconds"];
  try {
    ObjectPtr made = registry_.create(type_of(Kind::replica_sets), namespace_of(deployment), set,
                                      {{controller_manager}});
    progressed_[uid_of(deployment)] = now;
    if (replicas > 0)
      events_.record(
          deployment, deployment_component,
          {EventType::normal, "ScalingReplicaSet",
           "Scaled up replica set " + name_of(*made) + " from 0 to " + std::to_string(replicas),
           ""});
    return made;
  } catch (const Refusal& refusal) {
    events_.record(
        deployment, deployment_component,
        {EventType::warning, "ReplicaSetCreateError",
         "Failed to create new replica set \"" + name_of(set) + "\": " + refusal.message, ""});
    return nullptr;
  }
}

// Gives the current set the newest revision number, and the deployment the same one.
void DeploymentController::annotate(const Json& deployment, Sets& sets) {
  const std::int64_t newest = sets.old.empty() ? 0 : revision_of(*sets.old.back());
  const std::int64_t revision = std::max(revision_of(*sets.current), newest + 1);
  const Json annotations{
      {revision_annotation, std::to_string(revision)},
      {"deployment.kubernetes.io/desired-replicas", std::to_string(wanted_of(deployment))},
      {"deployment.kubernetes.io/max-replicas",
       std::to_string(wanted_of(deployment) + rollout_bounds(deployment).surge)}};
  const Json& present = at_path(*sets.current, "/metadata/annotations");
  bool differs = false;
  for (const auto& [key, value] : annotations.items())
    differs = differs || text_at(present, key) != value;
  if (differs)
    sets.current = registry_.merge_patch(
        type_of(Kind::replica_sets), namespace_of(deployment), name_of(*sets.current),
        {{"metadata", {{"annotations", annotations}}}}, {{controller_manager}});
  if (revision_of(deployment) == revision) return;
  Json next = deployment;
  next["metadata"]["annotations"][revision_annotation] = std::to_string(revision);
  registry_.write_status({Kind::deployments, namespace_of(deployment), name_of(deployment)},
                         std::move(next), controller_manager);
}

void DeploymentController::scale(const Json& deployment, const ObjectPtr& set,
                                 std::int64_t replicas) {
  const std::int64_t before = wanted_of(*set);
  if (before == replicas) return;
  registry_.merge_patch(type_of(Kind::replica_sets), namespace_of(*set), name_of(*set),
                        {{"spec", {{"replicas", replicas}}}}, {{controller_manager}});
  events_.record(
      deployment, deployment_component,
      {EventType::normal, "ScalingReplicaSet",
       std::string("Scaled ") + (replicas > before ? "up" : "down") + " replica set " +
           name_of(*set) + " from " + std::to_string(before) + " to " + std::to_string(replicas),
       ""});
}

void DeploymentController::roll(const Json& deployment, const Sets& sets) {
  const std::int64_t wanted = wanted_of(deployment);
  const RolloutBounds bounds = rollout_bounds(deployment);
  const Counts old = counts_of(sets.old);
  const std::int64_t mine = wanted_of(*sets.current);
  if (mine > wanted) {
    scale(deployment, sets.current, wanted);
  } else if (mine < wanted) {
    const std::int64_t room = wanted + bounds.surge - (old.wanted + mine);
    if (room > 0) scale(deployment, sets.current, mine + std::min(room, wanted - mine));
  }
  scale_down_old(deployment, sets, bounds.unavailable);
}

// First removes pods that aren't available anyway, then as many as the number of available ones
// allows.
void DeploymentController::scale_down_old(const Json& deployment, const Sets& sets,
                                          std::int64_t unavailable) {
  const ObjectPtr current =
      store_.find({Kind::replica_sets, namespace_of(*sets.current), name_of(*sets.current)});
  if (!current) return;
  const Counts old = counts_of(sets.old);
  const std::int64_t least = wanted_of(deployment) - unavailable;
  const std::int64_t available = number_at(*current, "/status/availableReplicas", 0);
  std::int64_t removable =
      old.wanted + wanted_of(*current) - least - (wanted_of(*current) - available);
  std::int64_t spare = std::max<std::int64_t>(0, old.available + available - least);
  for (const ObjectPtr& set : sets.old) {
    const std::int64_t has = wanted_of(*set);
    const std::int64_t sick =
        std::clamp<std::int64_t>(has - number_at(*set, "/status/availableReplicas", 0), 0,
                                 std::max<std::int64_t>(0, removable));
    const std::int64_t healthy =
        std::min({has - sick, spare, std::max<std::int64_t>(0, removable - sick)});
    if (sick + healthy <= 0) continue;
    removable -= sick + healthy;
    spare -= healthy;
    scale(deployment, set, has - sick - healthy);
  }
}

void DeploymentController::recreate(const Json& deployment, const Sets& sets) {
  for (const ObjectPtr& set : sets.old) scale(deployment, set, 0);
  bool gone = true;
  for (const ObjectPtr& set : sets.old)
    for (const Key& key : store_.dependents(uid_of(*set))) gone = gone && key.kind != Kind::pods;
  if (gone) scale(deployment, sets.current, wanted_of(deployment));
}

// Keeps only the most recent old sets, for rollbacks.
void DeploymentController::clean_up(const Json& deployment, const Sets& sets) {
  const std::int64_t limit = number_at(deployment, "/spec/revisionHistoryLimit", 10);
  std::int64_t surplus = static_cast<std::int64_t>(sets.old.size()) - limit;
  for (const ObjectPtr& set : sets.old) {
    if (surplus <= 0) return;
    if (wanted_of(*set) > 0 || number_at(*set, "/status/replicas", 0) > 0) continue;
    registry_.remove(type_of(Kind::replica_sets), namespace_of(*set), name_of(*set), {});
    --surplus;
  }
}

std::optional<Moment> DeploymentController::report(const Key& key, const Json& deployment,
                                                   const Sets& sets, Moment now) {
  std::vector<ObjectPtr> all = sets.old;
  all.push_back(sets.current);
  const Counts total = counts_of(all);
  const Counts updated = counts_of({sets.current});
  Json status = Json::object();
  const auto put = [&](const char* field, std::int64_t value) {
    if (value > 0) status[field] = value;
  };
  put("observedGeneration", number_at(deployment, "/metadata/generation", 1));
  put("replicas", total.replicas);
  put("updatedReplicas", updated.replicas);
  put("readyReplicas", total.ready);
  put("availableReplicas", total.available);
  put("unavailableReplicas", total.wanted - total.available);
  const Json& before = at_path(deployment, "/status");
  if (before.contains("conditions")) status["conditions"] = before["conditions"];
  const bool enough =
      total.available >= wanted_of(deployment) - rollout_bounds(deployment).unavailable;
  set_rollout_condition(status, enough
                                    ? Condition{"Available", "True", "MinimumReplicasAvailable",
                                                "Deployment has minimum availability."}
                                    : Condition{"Available", "False", "MinimumReplicasUnavailable",
                                                "Deployment does not have minimum availability."});
  const auto due = report_progress(deployment, before, sets, status, now);
  const auto failing = std::find_if(all.rbegin(), all.rend(), [](const ObjectPtr& set) {
    return set && is_true(*set, "ReplicaFailure");
  });
  if (failing == all.rend()) {
    remove_condition(status, "ReplicaFailure");
  } else {
    const Json& failure = condition_of(**failing, "ReplicaFailure");
    set_rollout_condition(status, {"ReplicaFailure", "True", text_at(failure, "reason"),
                                   text_at(failure, "message")});
  }
  if (status == before) return due;
  Json next = deployment;
  next["status"] = std::move(status);
  registry_.write_status(key, std::move(next), controller_manager);
  return due;
}

std::optional<Moment> DeploymentController::report_progress(const Json& deployment,
                                                            const Json& before, const Sets& sets,
                                                            Json& status, Moment now) {
  const std::string uid = uid_of(deployment);
  const Json& current = condition_of(deployment, "Progressing");
  const std::string set = sets.current ? name_of(*sets.current) : name_of(deployment);
  const std::string quoted = "ReplicaSet \"" + set + "\"";
  const std::int64_t wanted = wanted_of(deployment);
  const auto count = [](const Json& of, const char* field) { return number_at(of, field, 0); };
  const std::int64_t replicas = count(status, "/replicas");
  const std::int64_t updated = count(status, "/updatedReplicas");
  const bool new_template =
      text_at(current, "message").find("\"" + set + "\"") == std::string::npos;
  if (new_template && sets.current) {
    progressed_[uid] = now;
    set_rollout_condition(
        status,
        {"Progressing", "True", "NewReplicaSetCreated", "Created new replica set \"" + set + "\""},
        Refresh::yes);
  }
  const std::string reason = new_template ? "" : text_at(current, "reason");
  if (replicas == updated && reason == "NewReplicaSetAvailable") return std::nullopt;
  const bool complete =
      updated == wanted && replicas == wanted && count(status, "/availableReplicas") == wanted;
  const bool further =
      updated > count(before, "/updatedReplicas") ||
      replicas - updated < count(before, "/replicas") - count(before, "/updatedReplicas") ||
      count(status, "/readyReplicas") > count(before, "/readyReplicas") ||
      count(status, "/availableReplicas") > count(before, "/availableReplicas");
  const auto started = progressed_.try_emplace(uid, now).first;
  const Moment deadline =
      started->second +
      number_at(deployment, "/spec/progressDeadlineSeconds", 600) * timing_.second;
  if (complete) {
    set_rollout_condition(status, {"Progressing", "True", "NewReplicaSetAvailable",
                                   quoted + " has successfully progressed."});
    return std::nullopt;
  }
  if (further) {
    started->second = now;
    set_rollout_condition(status,
                          {"Progressing", "True", "ReplicaSetUpdated", quoted + " is progressing."},
                          Refresh::yes);
    return now + number_at(deployment, "/spec/progressDeadlineSeconds", 600) * timing_.second;
  }
  if (now < deadline) return deadline;
  set_rollout_condition(status, {"Progressing", "False", "ProgressDeadlineExceeded",
                                 quoted + " has timed out progressing."});
  return std::nullopt;
}

}  // namespace berth::embedded
