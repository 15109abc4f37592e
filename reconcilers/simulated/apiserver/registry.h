#pragma once

#include <optional>
#include <random>

#include "reconcilers/simulated/apiserver/apply.h"
#include "reconcilers/simulated/apiserver/store.h"

// What the API server's verbs do to objects: checks, defaults, versions, managed fields, deletion.
namespace berth::simulated {

enum class Propagation { background, foreground, orphan };
enum class PatchType { merge, strategic, json };
enum class DryRun { no, yes };

struct DeleteOptions {
  Propagation propagation = Propagation::background;
  std::string uid;               // only this very object; empty: any
  std::string resource_version;  // only this very state; empty: any
  std::optional<std::int64_t> grace_seconds;
};

// How a request wants something written.
struct Request {
  Writer writer;
  DryRun dry_run = DryRun::no;
};

struct Applied {
  ObjectPtr object;
  bool created;
};

// All functions need the caller to hold the store's mutex, and throw Refusal.
class Registry {
 public:
  // `seed` 0: unpredictable names and uids.
  Registry(Store& store, std::uint64_t seed);

  ObjectPtr get(const Type& type, const std::string& name_space, const std::string& name) const;
  ObjectPtr create(const Type& type, const std::string& name_space, Json object,
                   const Request& request);
  // PUT. With `object`'s resourceVersion only if nobody was faster.
  Applied put(const Type& type, const std::string& name_space, const std::string& name, Json object,
              const Request& request);
  ObjectPtr update(const Type& type, const std::string& name_space, const std::string& name,
                   Json object, const Request& request) {
    return put(type, name_space, name, std::move(object), request).object;
  }
  // JSON merge patch (RFC 7396), strategic merge patch, JSON patch (RFC 6902).
  ObjectPtr patch(PatchType how, const Type& type, const std::string& name_space,
                  const std::string& name, const Json& patch, const Request& request);
  ObjectPtr merge_patch(const Type& type, const std::string& name_space, const std::string& name,
                        const Json& patch_object, const Request& request) {
    return patch(PatchType::merge, type, name_space, name, patch_object, request);
  }
  Applied apply(const Type& type, const std::string& name_space, const std::string& name,
                const Json& config, const Request& request, Force force);
  // What DELETE answers with: a Status when the object is gone, the object while it lingers (its
  // finalizers, a pod's grace period, a namespace's content).
  Json remove(const Type& type, const std::string& name_space, const std::string& name,
              const DeleteOptions& options);

  // For the controllers: `object` as it is, tracked as a status update of `manager`. Nothing
  // happens where nothing changes or the object is gone meanwhile.
  void write_status(const Key& key, Json object, const std::string& manager);
  // Removes the object for good, unless finalizers hold it.
  void finish(const Key& key);

  std::mt19937_64& random() { return random_; }
  // Five letters and digits, as in the names of pods.
  std::string name_suffix(size_t length = 5);
  std::string uuid();

 private:
  ObjectPtr commit(const Key& key, const ObjectPtr& live, Json object, DryRun dry_run);
  ObjectPtr replace(const Type& type, const ObjectPtr& live, Json next, const Request& request);
  void prepare_create(const Type& type, const std::string& name_space, Json& object);
  void prepare_pod(Json& pod);
  void allocate_address(Json& service);
  void admit(const Type& type, const Json& object) const;
  Json remove_pod(const Key& key, const ObjectPtr& live, const DeleteOptions& options);
  ObjectPtr begin_deletion(const Key& key, Json object, std::int64_t grace_seconds);

  Store& store_;
  std::mt19937_64 random_;
  std::uint32_t addresses_ = 0;
};

}  // namespace berth::simulated
