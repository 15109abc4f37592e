#pragma once

#include <string>

#include "controller/db/database.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/applier.h"
#include "reconcilers/cluster/keyed_mutex.h"

namespace berth::reconcilers {

// The namespaces of operator apps: made with an app's first deployment, gone with its last one. For
// each app one thread at a time makes or removes; which of both is right is read under its lock.
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
    bool ready = false;  // else an old namespace of the same name is still leaving
    Applier::Result result;
  };
  // Throws kube::ApiError.
  Made make(const std::string& app_id);

  // Removes the namespace where no deployment of the app lives. True where there is nothing to wait
  // for: it is gone, or somebody lives there, be it objects that no row is known for: a database
  // that was restored from a backup doesn't know the newest ones. Throws kube::ApiError.
  bool remove_if_empty(const std::string& app_id);

 private:
  deployments::AppSize size_of(const std::string& app_id);
  bool has_orphans(const std::string& name_space);
  bool is_ours(const Object& name_space, const std::string& app_id) const;

  db::Database& database_;
  kube::Client& client_;
  Cache& cache_;
  Applier& applier_;
  const manifests::Settings& settings_;
  KeyedMutex apps_;
};

}  // namespace berth::reconcilers
