#pragma once

#include <string>

#include "reconcilers/kube/kubeconfig.h"

namespace berth::kube {

// What libcurl is told about the API server's address.
struct Endpoint {
  std::string base_url;  // goes before each path; has tls-server-name as its host if that is set
  std::string host;  // the Host header, if it differs from the host in base_url; otherwise empty
  std::string connect_to;  // CURLOPT_CONNECT_TO, if base_url doesn't name the host to connect to
  std::string proxy = {};  // its URL; empty: no proxy
};

// Parses and checks the address `server`. Throws std::invalid_argument that says what is wrong: it
// isn't a URL, it contains a user or a query, or it is http:// to another machine, which would let
// everybody on the way read the credentials.
Endpoint endpoint_of(const std::string& server, const std::string& tls_server_name);

}  // namespace berth::kube
