#pragma once

#include "reconcilers/simulated/apiserver/store.h"
#include "reconcilers/simulated/cluster.h"

namespace berth::simulated {

// Cluster::page. Needs the store's mutex.
Page page_of(const Store& store, const std::string& host);

}  // namespace berth::simulated
