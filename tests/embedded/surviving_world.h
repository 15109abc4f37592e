#pragma once

#include <memory>
#include <string>

#include "controller/db/sqlite/copy.h"
#include "tests/embedded/support.h"
#include "tests/embedded/surviving_runtime.h"
#include "tests/temp_dir.h"

namespace berth::embedded::tests {

// A cluster whose objects are on disk, on a machine whose containers survive it.
class SurvivingWorld {
 public:
  // `second` is the length of the cluster's second.
  explicit SurvivingWorld(std::chrono::milliseconds second = std::chrono::milliseconds(10))
      : second_(second) {
    begin();
  }

  // berthd is killed, and started again: the new cluster has what was on disk at that moment.
  void kill_and_begin() {
    kill();
    begin();
  }
  void kill() {
    machine.cut();
    const auto before = file();
    ++kills_;
    db::sqlite::copy(before, file(), [] { return true; });
    cluster_.reset();
  }
  void begin() {
    Options options;
    options.timing = Timing::instant();
    options.timing.second = second_;
    options.runtime = [this](Runtime::Wake wake) {
      return std::make_unique<SurvivingRuntime>(machine, std::move(wake));
    };
    options.disk = DiskOptions{.file = file(), .seal = seal, .open = open};
    cluster_ = std::make_unique<Cluster>(options);
    if (!cluster_->get("namespaces", "", "apps"))
      cluster_->put(
          Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}});
    World::wait([&] { return cluster_->get("serviceaccounts", "apps", "default").has_value(); });
  }

  Cluster& cluster() { return *cluster_; }
  std::filesystem::path file() const { return folder_ / ("cluster-" + std::to_string(kills_)); }

  void apply(Json object) {
    object["metadata"]["namespace"] = "apps";
    cluster_->apply(object);
  }
  std::vector<Json> pods(const std::string& app) {
    std::vector<Json> living;
    for (Json& pod : cluster_->list("pods", "apps", "app=" + app))
      if (!pod["metadata"].contains("deletionTimestamp") && pod["status"]["phase"] != "Failed")
        living.push_back(std::move(pod));
    return living;
  }
  // Whether this many pods of the app are ready, all of them with this image, and no others exist.
  bool runs(const std::string& app, size_t number, const std::string& image) {
    return World::wait([&] {
      const auto all = cluster_->list("pods", "apps", "app=" + app);
      return all.size() == number && std::ranges::all_of(all, [&](const Json& pod) {
               return condition(pod, "Ready").value("status", "") == "True" &&
                      pod["spec"]["containers"][0]["image"] == image;
             });
    });
  }
  // The status of the only container of the app's first pod.
  Json status(const std::string& app) {
    const auto all = pods(app);
    if (all.empty()) return Json::object();
    const Json& statuses = at_path(all.front(), "/status/containerStatuses");
    return statuses.empty() ? Json::object() : statuses[0];
  }

  Machine machine;

 private:
  static std::string seal(const std::string& plain) {
    std::string sealed = "sealed:" + plain;
    for (char& c : sealed) c = static_cast<char>(c ^ 0x55);
    return sealed;
  }
  static std::optional<std::string> open(const std::string& sealed) {
    std::string plain = sealed;
    for (char& c : plain) c = static_cast<char>(c ^ 0x55);
    if (!plain.starts_with("sealed:")) return std::nullopt;
    return plain.substr(7);
  }

  const berth::test::TempDir folder_;
  const std::chrono::milliseconds second_;
  int kills_ = 0;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace berth::embedded::tests
