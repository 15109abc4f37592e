#pragma once

#include <string>

// By what a container proves which deployment it is of (the field `identity`).
namespace berth::deployments {

// What a token of a container says. It is proven once the cluster has said so.
struct Identity {
  std::string app_id;
  std::string deployment_id;
};

// Where containers find their token.
inline constexpr const char* identity_file = "/var/run/secrets/berth/token";

}  // namespace berth::deployments
