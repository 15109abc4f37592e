#pragma once

#include <string>
#include <vector>

#include "berthd/config.h"
#include "reconcilers/cluster/isolation_paths.h"

namespace berth {

// What berthd knows of the surroundings of tenants' pods: itself, the API server as it reaches it,
// and what the configuration says. `listeners` are berthd's own, with the ports that they have;
// `server` is the URL of the API server, whose name is looked up. Loopback addresses are left out,
// and so are public ones of berthd that the network policy lets containers reach: they are the
// internet's, too. If this machine is the cluster, containers may reach none of its addresses but
// the ingress controller's, and all are tried, at the ports of berthd and of its API server.
reconcilers::ProbeSurroundings isolation_surroundings(const Config& config,
                                                      const std::vector<Address>& listeners,
                                                      const std::string& server);

}  // namespace berth
