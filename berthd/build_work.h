#pragma once

#include <functional>
#include <memory>

#include "api/gate/cluster_view.h"
#include "berthd/config.h"
#include "berthd/storage.h"
#include "reconcilers/builds/build_files.h"
#include "reconcilers/builds/build_loop.h"
#include "reconcilers/embedded/node/builder.h"
#include "reconcilers/loops/loops.h"

namespace berth {

// What berthd does to build images from source. There is one if it has a builder.
class BuildWork {
 public:
  // `wake` starts the next round of the loop of builds. Throws std::filesystem::filesystem_error.
  BuildWork(const Config& config, const Storage& storage,
            std::unique_ptr<embedded::Builder> builder, std::function<void()> wake);

  void add_to(reconcilers::Loops& loops) { loops.add(loop_.loop()); }
  // Returns the functions by which handlers build, which use this object.
  std::shared_ptr<const api::Builds> view() const { return view_; }

 private:
  const reconcilers::BuildFiles files_;
  const std::unique_ptr<embedded::Builder> builder_;
  reconcilers::BuildLoop loop_;
  const std::shared_ptr<const api::Builds> view_;
};

// Returns null if this configuration has no builder.
std::unique_ptr<BuildWork> build_work(const Config& config, const Storage& storage,
                                      std::function<void()> wake);

}  // namespace berth
