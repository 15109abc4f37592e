#include "reconcilers/cluster/applier.h"

#include <algorithm>
#include <cmath>

#include "manifests/manifests.h"
#include "reconcilers/cluster/differ.h"
#include "reconcilers/cluster/ownership.h"

namespace berth::reconcilers {
namespace {

std::string hash_in(const Object& object) {
  return text_at(object, {"metadata", "annotations", manifests::hash_annotation});
}

std::string wait_key(const Object& object) {
  return text_at(object, {"kind"}) + "/" + namespace_of(object) + "/" + name_of(object);
}

}  // namespace

std::optional<std::chrono::milliseconds> RepairBudget::wait_before(const std::string& key,
                                                                   TimePoint now) {
  const std::lock_guard lock(mutex_);
  const double refill_seconds = std::chrono::duration<double>(refill).count();
  if (left_.size() >= sweep_at_) {
    std::erase_if(left_, [&](const auto& entry) { return now - entry.second.at > most * refill; });
    if (left_.size() > max_keys / 2) left_.clear();
    sweep_at_ = std::max(first_sweep, 2 * left_.size());
  }
  const auto [entry, is_new] = left_.try_emplace(key, Left{most, now});
  Left& left = entry->second;
  const double seconds = std::chrono::duration<double>(now - left.at).count();
  left = {std::min(most, left.repairs + seconds / refill_seconds), now};
  if (left.repairs < 1) {
    const double missing = (1 - left.repairs) * refill_seconds;
    return std::chrono::milliseconds(std::llround(std::ceil(missing * 1000)));
  }
  left.repairs -= 1;
  return std::nullopt;
}

void RepairBudget::give_back(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = left_.find(key);
  if (found != left_.end()) found->second.repairs = std::min(most, found->second.repairs + 1);
}

std::optional<std::chrono::milliseconds> RepairBudget::wait_of(const std::string& key,
                                                               TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = left_.find(key);
  if (found == left_.end()) return std::nullopt;
  const double refill_seconds = std::chrono::duration<double>(refill).count();
  const double seconds = std::chrono::duration<double>(now - found->second.at).count();
  const double missing = (1 - found->second.repairs) * refill_seconds - seconds;
  if (missing <= 0) return std::nullopt;
  return std::chrono::milliseconds(std::llround(std::ceil(missing * 1000)));
}

size_t RepairBudget::keys() {
  const std::lock_guard lock(mutex_);
  return left_.size();
}

void Applier::Result::add(const Result& other) {
  applied += other.applied;
  if (other.again) again = again ? std::min(*again, *other.again) : *other.again;
  if (!fought_over) fought_over = other.fought_over;
}

Applier::Result Applier::apply(const std::vector<Object>& desired, Missing missing) {
  Result result;
  for (const Object& object : desired) {
    result.add(apply_one(object, missing));
    if (result.fought_over) continue;
    if (const auto wait = budget_.wait_of(wait_key(object), std::chrono::steady_clock::now()))
      result.fought_over = {.object = text_at(object, {"kind"}) + " " + name_of(object),
                            .until_settled = *wait};
  }
  return result;
}

Applier::Result Applier::apply_one(const Object& desired, Missing missing) {
  const ObjectPtr live = cache_.find(desired);
  if (live && !differs(desired, *live)) return {};
  // If the hash in the annotation differs, the desired state is new and is applied at once.
  // Creating a missing object, or reverting somebody else's change, takes from the budget of
  // repairs.
  const bool is_repair = !live || hash_in(*live) == hash_in(desired);
  const std::string key = wait_key(desired);
  if (is_repair) {
    if (const auto wait = budget_.wait_before(key, std::chrono::steady_clock::now()))
      return {.applied = 0, .again = wait, .fought_over = {}};
  }
  try {
    if (!live && missing == Missing::created)
      cache_.note(create(desired));
    else if (live && is_owned_by_create(*live))
      cache_.note(apply_to_created(desired));
    else
      cache_.note(client_.apply(desired));
  } catch (const kube::ApiError&) {
    if (is_repair) budget_.give_back(key);
    throw;
  }
  return {.applied = 1, .again = {}, .fought_over = {}};
}

// The object exists nevertheless if somebody has taken its labels away, or if the answer to an
// earlier create was lost.
Object Applier::create(const Object& desired) {
  try {
    return client_.create(desired);
  } catch (const kube::ApiError& error) {
    if (error.reason != "AlreadyExists") throw;
  }
  return apply_to_created(desired);
}

// The cache doesn't have other managers' fields, so the object is read. If somebody changes it in
// between, the write is refused with a 409, and the deployment is tried again.
Object Applier::apply_to_created(const Object& desired) {
  const kube::Resource& resource = kube::resource_of(desired);
  const kube::ListOptions this_one = {.name_space = namespace_of(desired),
                                      .label_selector = "",
                                      .field_selector = "metadata.name=" + name_of(desired)};
  for (const Object& live : client_.list(resource, this_one).items) {
    if (!is_owned_by_create(live)) continue;
    Object change = {{"apiVersion", resource.api_version}, {"kind", resource.kind}};
    change["metadata"] = {{"name", name_of(live)},
                          {"namespace", namespace_of(live)},
                          {"resourceVersion", text_at(live, {"metadata", "resourceVersion"})},
                          {"managedFields", owned_by_apply(live)}};
    client_.merge(change);
  }
  return client_.apply(desired);
}

}  // namespace berth::reconcilers
