#include "berthd/build_work.h"

#include "berthd/local_machine.h"
#include "reconcilers/embedded/node/podman/builder.h"
#include "reconcilers/embedded/node/podman/runtime.h"
#include "reconcilers/embedded/node/simulated/builder.h"

namespace berth {
namespace {

constexpr const char* builds_name = "builds";  // in the data directory
// What a build may use of the machine's processors.
constexpr int build_cpu_millicores = 1000;

builds::Limits limits_of(const Config& config) {
  return {.time = std::chrono::duration_cast<std::chrono::seconds>(config.build_timeout),
          .storage_bytes = std::int64_t(config.build_storage_bytes)};
}

std::unique_ptr<embedded::Builder> builder_for(const Config& config) {
  if (config.kubernetes == Cluster::simulated && config.simulated_builds)
    return std::make_unique<embedded::SimulatedBuilder>();
  if (config.kubernetes == Cluster::local) {
    const std::filesystem::path directory = local_directory(config);
    return embedded::podman::make_builder(
        {.socket = embedded::podman::socket_of({.directory = directory}), .directory = directory});
  }
  return nullptr;
}

}  // namespace

BuildWork::BuildWork(const Config& config, const Storage& storage,
                     std::unique_ptr<embedded::Builder> builder, std::function<void()> wake)
    : files_(storage.data.path() / builds_name),
      builder_(std::move(builder)),
      loop_({.builder = *builder_,
             .files = files_,
             .registries = config.registries,
             .wake = std::move(wake)},
            {.limits = limits_of(config),
             .at_once = config.builds_at_once,
             .cpu_millicores = build_cpu_millicores,
             .memory_bytes = std::int64_t(config.build_memory_bytes),
             .image_bytes = std::int64_t(config.build_storage_bytes)}),
      view_(std::make_shared<const api::Builds>(api::Builds{
          .uploads = files_.uploads(),
          .max_source_bytes = std::size_t(config.max_source_bytes),
          .limits = limits_of(config),
          .keep = [this](const std::string& id,
                         const std::filesystem::path& source) { files_.keep(id, source); },
          .forget = [this](const std::string& id) { files_.forget(id); },
          .log = [this](const std::string& id, std::uint64_t from,
                        std::size_t most) { return files_.log(id, from, most); }})) {}

std::unique_ptr<BuildWork> build_work(const Config& config, const Storage& storage,
                                      std::function<void()> wake) {
  auto builder = builder_for(config);
  if (!builder) return nullptr;
  return std::make_unique<BuildWork>(config, storage, std::move(builder), std::move(wake));
}

}  // namespace berth
