#pragma once

#include <string>

#include "reconcilers/kube/kubeconfig.h"

namespace berth::kube {

// What libcurl is told about the API server's address.
struct Endpoint {
  std::string base_url;    // before each path; names tls-server-name where there is one
  std::string host;        // the Host header, where it differs from base_url's; else empty
  std::string connect_to;  // CURLOPT_CONNECT_TO, where base_url's host isn't the one to connect to
};

// The address in `server`, checked. Throws std::invalid_argument that says what is wrong with it:
// it's no URL, holds a user or a query, or is http:// to another machine, where everybody between
// could read the credentials.
Endpoint endpoint_of(const std::string& server, const std::string& tls_server_name);

}  // namespace berth::kube
