#pragma once

#include <map>
#include <string>

#include "reconcilers/embedded/apiserver/quantity.h"

namespace berth::embedded {

using Amounts = std::map<std::string, Quantity>;

// The amounts that an object counts for: `pods`, `requests.cpu`, `limits.memory`, `secrets`,
// `count/deployments.apps` and so on.
Amounts charges(const Type& type, const Json& object);

// What the objects of each namespace use of the resources that quotas count. It is kept up to date
// with each change, because summing up a namespace for each of its pods takes quadratic time.
// Events aren't counted.
class QuotaUsage {
 public:
  // Takes a change of an object, whose state before or after may be null.
  void count(Kind kind, const std::string& name_space, const Json* before, const Json* after);
  Quantity of(const std::string& name_space, const std::string& resource) const;

 private:
  std::map<std::string, Amounts> used_;  // by namespace, without amounts of 0
};

}  // namespace berth::embedded
