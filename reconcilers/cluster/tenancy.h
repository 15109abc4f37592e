#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/applier.h"
#include "reconcilers/cluster/keyed_mutex.h"

namespace berth::reconcilers {

// The namespaces of operator apps. A namespace is created with an app's first deployment and
// removed with its last one. For each app only one thread at a time creates or removes it, and
// which of the two is right is read from the database under the app's lock. Thread-safe.
class Tenancy {
 public:
  Tenancy(db::Database& database, kube::Client& client, Cache& cache, Applier& applier,
          const manifests::Settings& settings)
      : database_(database),
        client_(client),
        cache_(cache),
        applier_(applier),
        settings_(settings) {}

  struct Made {
    // False if an old namespace of the same name is still terminating, or the app has no deployment
    // any more.
    bool ready = false;
    // berthd has just got its rights in the namespace. The API server takes a moment to act on
    // them, so nothing else was applied yet.
    bool rights_are_new = false;
    // The quota has more room than the app's deployments are meant to need.
    bool quota_is_wide = false;
    Applier::Result result;
  };
  // Applies the namespace and the objects that the app's deployments share. Throws kube::ApiError.
  Made make(const std::string& app_id);

  // Applies the RoleBinding that gives berthd its rights in the app's namespace, if there is a
  // namespace and settings.tenant_role is set. make() does the same; this is for apps whose last
  // deployment is leaving. Throws kube::ApiError.
  void bind_rights(const std::string& app_id);

  // Whether berthd got its rights in the app's namespace so recently that the API server may not
  // know of them yet. Answers from the cache.
  bool has_new_rights(const std::string& app_id, Instant now) const;

  // Removes the app's namespace if no deployment lives in it. Returns true if there is nothing to
  // wait for: the namespace is gone, or it is in use. Objects without a row count as use, because a
  // database that was restored from a backup doesn't know the newest deployments. Throws
  // kube::ApiError.
  bool remove_if_empty(const std::string& app_id);

 private:
  // How long the API server may take to act on a new RoleBinding.
  static constexpr std::chrono::seconds rights_take_effect{30};

  // The objects of an app's namespace when there was nothing to be changed about them.
  struct Settled {
    struct Part {
      const kube::Resource* resource = nullptr;
      std::string name_space;
      std::string name;
      std::uint64_t revision = 0;
    };
    deployments::AppSize size;
    std::vector<Part> parts;
  };

  Settled settled_as(const deployments::AppSize& size, const std::vector<Object>& objects) const;
  bool is_settled(const std::string& app_id, const deployments::AppSize& size) const;
  ObjectPtr live_binding(const std::string& app_id) const;
  deployments::AppSize size_of(const std::string& app_id);
  bool keep_room(const std::string& app_id, Object& quota);
  bool has_orphans(const std::string& name_space);
  bool is_ours(const Object& name_space, const std::string& app_id) const;

  db::Database& database_;
  kube::Client& client_;
  Cache& cache_;
  Applier& applier_;
  const manifests::Settings& settings_;
  KeyedMutex apps_;

  // Each reconcile of a deployment asks for its app's namespace, which rarely needs anything. So
  // its objects aren't made and compared again until one of them or the app's size has changed.
  mutable std::mutex mutex_;
  std::map<std::string, Settled> settled_;  // by app; without those whose namespace was removed
};

}  // namespace berth::reconcilers
