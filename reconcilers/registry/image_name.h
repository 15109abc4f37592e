#pragma once

#include <string>

namespace berth::registry {

// Where an image is. The names are those of the OCI Distribution Specification.
struct ImageName {
  std::string host;        // the registry's host, with its port if it has one
  std::string repository;  // such as library/nginx
  std::string reference;   // a digest (sha256:…) or a tag
  bool operator==(const ImageName&) const = default;

  // Whether the registry is asked over http: container runtimes do so for registries on the same
  // machine.
  bool is_plain() const;
};

// Takes the name of an image apart as container runtimes do (distribution/reference, "normalized
// names"): without a registry it is Docker Hub's, without a tag it is "latest", and a digest counts
// more than a tag. `image` has to be a valid reference.
ImageName parse_image_name(const std::string& image);

}  // namespace berth::registry
