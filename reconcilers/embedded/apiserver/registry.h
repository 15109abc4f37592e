#pragma once

#include <optional>
#include <random>

#include "reconcilers/embedded/apiserver/apply.h"
#include "reconcilers/embedded/apiserver/store.h"

// The operations of the API server on objects: checks, defaults, versions, managed fields,
// deletion.
namespace berth::embedded {

enum class Propagation { background, foreground, orphan };
enum class PatchType { merge, strategic, json };
enum class DryRun { no, yes };

struct DeleteOptions {
  std::optional<Propagation> propagation;  // nothing: what is usual for the kind
  std::string uid;                         // delete only if the object has this uid; empty: any
  std::string resource_version;            // delete only this version of the object; empty: any
  std::optional<std::int64_t> grace_seconds;
};

// Who writes, and whether the write is only tried out.
struct Request {
  Writer writer;
  DryRun dry_run = DryRun::no;
};

struct Applied {
  ObjectPtr object;
  bool created;
};

// All functions require that the caller holds the store's mutex. Those for requests throw Refusal.
class Registry {
 public:
  // With a seed of 0, names and uids are unpredictable. Addresses of Services that are in the store
  // aren't given again.
  Registry(Store& store, std::uint64_t seed);

  // Throws Refusal 404 if the object doesn't exist, as all functions for requests do.
  ObjectPtr get(const Type& type, const std::string& name_space, const std::string& name) const;
  ObjectPtr create(const Type& type, const std::string& name_space, Json object,
                   const Request& request);
  // PUT. If `object` has a resourceVersion, it must be the current one.
  Applied put(const Type& type, const std::string& name_space, const std::string& name, Json object,
              const Request& request);
  ObjectPtr update(const Type& type, const std::string& name_space, const std::string& name,
                   Json object, const Request& request) {
    return put(type, name_space, name, std::move(object), request).object;
  }
  // Applies a JSON merge patch (RFC 7396), strategic merge patch or JSON patch (RFC 6902).
  ObjectPtr patch(PatchType how, const Type& type, const std::string& name_space,
                  const std::string& name, const Json& patch, const Request& request);
  // PATCH of a pod's subresource `resize`: changes the memory and CPU of its containers, and
  // nothing else. Its kubelet then gives them to the containers.
  ObjectPtr resize(PatchType how, const std::string& name_space, const std::string& name,
                   const Json& patch, const Request& request);
  ObjectPtr merge_patch(const Type& type, const std::string& name_space, const std::string& name,
                        const Json& patch_object, const Request& request) {
    return patch(PatchType::merge, type, name_space, name, patch_object, request);
  }
  Applied apply(const Type& type, const std::string& name_space, const std::string& name,
                const Json& config, const Request& request, Force force);
  // DELETE. Returns a Status if the object is gone, or the object if it remains for now because of
  // its finalizers, a pod's grace period, or a namespace's contents.
  Json remove(const Type& type, const std::string& name_space, const std::string& name,
              const DeleteOptions& options);

  // For the controllers: stores `object` as a status update of `manager`. Does nothing if nothing
  // changes or the object no longer exists.
  void write_status(const Key& key, Json object, const std::string& manager);
  // Deletes the object for good, unless finalizers keep it.
  void finish(const Key& key);

  std::mt19937_64& random() { return random_; }
  // Random letters and digits, as at the end of pod names.
  std::string name_suffix(size_t length = 5);
  std::string uuid();

 private:
  static Json patched(PatchType how, Json object, const Json& patch);
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

}  // namespace berth::embedded
