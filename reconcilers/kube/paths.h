#pragma once

#include <string>
#include <string_view>

#include "reconcilers/kube/client.h"

namespace berth::kube {

// Returns /api/v1/namespaces/{name_space}/{plural} or /apis/{group}/{version}/…. The part with the
// namespace is left out if the kind has none, or if `name_space` is empty, which means all of them.
std::string collection_path(const Resource& resource, const std::string& name_space);

// The path of one object. Throws std::invalid_argument for a name or namespace that is missing or
// malformed: without a name, a DELETE would delete the whole collection.
std::string object_path(const Resource& resource, const std::string& name_space,
                        const std::string& name);
// The collection that a new object is posted to. Throws like object_path().
std::string create_path(const Resource& resource, const std::string& name_space);

// Builds a query string. Values are percent-encoded, and empty ones are left out.
class Query {
 public:
  Query& add(std::string_view key, std::string_view value);
  std::string text() const { return text_; }  // with the leading '?', or empty

 private:
  std::string text_;
};

}  // namespace berth::kube
