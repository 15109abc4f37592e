#pragma once

#include "reconcilers/simulated/apiserver/store.h"
#include "reconcilers/simulated/cluster.h"

namespace berth::simulated {

// Makes what Cluster::page() returns. The caller must hold the store's mutex.
Page page_of(const Store& store, const std::string& host);

}  // namespace berth::simulated
