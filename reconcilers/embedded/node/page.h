#pragma once

#include "reconcilers/embedded/apiserver/store.h"
#include "reconcilers/embedded/cluster.h"

namespace berth::embedded {

// Makes what Cluster::page() returns. The caller must hold the store's mutex.
Page page_of(const Store& store, const std::string& host);

}  // namespace berth::embedded
