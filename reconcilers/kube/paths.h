#pragma once

#include <string>
#include <string_view>

#include "reconcilers/kube/client.h"

namespace berth::kube {

// Everything but the unreserved characters of RFC 3986, section 2.3, as %XX.
std::string percent_encode(std::string_view text);

// /api/v1/namespaces/{name_space}/{plural}, or /apis/{group}/{version}/…; without the namespace's
// part where the kind has none or `name_space` is empty (all of them).
std::string collection_path(const Resource& resource, const std::string& name_space);

// The path of one object. Throws std::invalid_argument for a name or a namespace that is missing or
// can't be one: without a name a DELETE would mean the whole collection.
std::string object_path(const Resource& resource, const std::string& name_space,
                        const std::string& name);
// The collection that a new object is posted to. Throws as object_path does.
std::string create_path(const Resource& resource, const std::string& name_space);

// A query, built up: each value is percent-encoded, empty ones are left out.
class Query {
 public:
  Query& add(std::string_view key, std::string_view value);
  std::string text() const { return text_; }  // with its '?', or empty

 private:
  std::string text_;
};

}  // namespace berth::kube
