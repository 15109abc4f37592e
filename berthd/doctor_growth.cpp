// `berthd doctor --cluster` with the data directory of a platform that was on one machine.
#include <algorithm>
#include <set>

#include "berthd/data_dir.h"
#include "berthd/doctor.h"
#include "controller/base/clock.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/db/sqlite/connection.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"

namespace berth::doctor {
namespace {

namespace fs = std::filesystem;

// How many names are said of a longer list.
constexpr std::size_t most_named = 10;

std::string some_of(const std::vector<std::string>& all) {
  const std::vector<std::string> first(
      all.begin(), all.begin() + std::ptrdiff_t(std::min(all.size(), most_named)));
  std::string text = joined(first, ", ");
  if (all.size() > most_named) text += " and " + std::to_string(all.size() - most_named) + " more";
  return text;
}

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

class Growth {
 public:
  Growth(const Config& config, db::Tx& tx, bool was_here)
      : config_(config), tx_(tx), was_here_(was_here) {}

  std::vector<Finding> run() {
    look_at_built_images();
    look_at_registries();
    if (was_here_) {
      look_at_addresses();
      look_at_https();
      look_at_this_machine();
    }
    return std::move(findings_);
  }

 private:
  std::string command(const std::string& words) const {
    return "berthd local " + words + " --data-dir " + config_.data_dir.string();
  }

  void add(const char* name, Result result, const std::string& detail, const std::string& advice) {
    findings_.push_back({.name = name, .result = result, .detail = detail, .advice = advice});
  }

  void look_at_built_images() {
    std::vector<std::string> names;
    const auto images = builds::images_in_use(tx_);
    for (const auto& image : images)
      names.insert(names.end(), image.deployments.begin(), image.deployments.end());
    if (!images.empty())
      add("images from source", Result::failed,
          counted(images.size(), "image") +
              " of localhost that only this machine has: " + some_of(names),
          "Stop berthd, and push them to a registry that the cluster pulls from, which changes the "
          "deployments too: " +
              command("push REGISTRY/PATH"));
    else if (was_here_)
      add("images from source", Result::ok, "no deployment runs one that only this machine has",
          "");
  }

  void look_at_registries() {
    std::vector<std::string> names;
    std::set<std::string> hosts;
    auto rows = tx_.query(R"(SELECT name, image FROM deployments WHERE status <> 'destroyed')");
    while (rows.next()) {
      const std::string image = rows.text("image");
      const std::string registry = image.substr(0, image.find('/'));
      if (builds::is_built(image) || !is_loopback(registry.substr(0, registry.rfind(':'))))
        continue;
      hosts.insert(registry);
      names.push_back(rows.text("name"));
    }
    if (!names.empty())
      add("registries", Result::warning,
          joined({hosts.begin(), hosts.end()}, ", ") +
              " is this machine's alone: " + some_of(names),
          "Unless the cluster's node is this machine, push the images elsewhere, and have their "
          "owners change them: berth deploy update NAME --image REGISTRY/PATH");
  }

  void look_at_addresses() {
    const auto domains = std::size_t(tx_.number(R"(
            SELECT count(*)
            FROM deployments
            WHERE custom_domain IS NOT NULL AND status <> 'destroyed')"));
    add("names of apps", Result::warning,
        "*." + config_.apps_domain +
            (domains == 0 ? " leads" : " and " + counted(domains, "custom domain") + " lead") +
            " to this machine",
        "Have the DNS lead to the cluster's ingress controller once the deployments run there" +
            std::string(domains == 0 ? "."
                                     : "; the owners of custom domains have to do the same."));
  }

  void look_at_https() {
    if (!ingress_https_address(config_)) return;
    add("https for berth itself", Result::warning,
        "Caddy serves " + config_.base_url.value_or("") + " only while kubernetes is local",
        "Put a proxy that ends TLS in front of `listen`, or install the chart, whose Ingress "
        "does.");
    if (!config_.cluster_issuer && !config_.wildcard_tls_secret)
      add("https for apps", Result::failed,
          "Caddy orders certificates here, and nothing would on the cluster",
          "Set cluster-issuer to a ClusterIssuer of cert-manager, or wildcard-tls-secret.");
  }

  void look_at_this_machine() {
    add("this machine", Result::warning,
        "containers and Caddy of kubernetes: local keep running here beside those of the cluster",
        "Once the DNS leads to the cluster, end and remove them, and images from source with "
        "them: " +
            command("clean"));
  }

  const Config& config_;
  db::Tx& tx_;
  const bool was_here_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> growth(const Config& config) {
  const fs::path file = config.data_dir / database_name;
  std::error_code failed;
  if (config.database || !fs::exists(file, failed)) return {};
  try {
    db::sqlite::Connection rows(file, SQLite::OPEN_READONLY, "");
    if (!rows.raw().tableExists("builds")) return {};
    db::Tx tx(rows, Clock().now());
    return Growth(config, tx, fs::exists(local_directory(config), failed)).run();
  } catch (const std::exception& failure) {
    return {{.name = "images from source",
             .result = Result::unknown,
             .detail = file.string() + ": " + failure.what(),
             .advice = "Run this command as the user that berthd runs as."}};
  }
}

}  // namespace berth::doctor
