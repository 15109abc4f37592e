#include "berthd/local_commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <regex>

#include "berthd/dir_lock.h"
#include "berthd/doctor.h"
#include "berthd/exit_codes.h"
#include "berthd/local_machine.h"
#include "berthd/open_database.h"
#include "controller/domain/deployments/builds/builds.h"
#include "reconcilers/embedded/ingress/caddy.h"
#include "reconcilers/embedded/node/podman/runtime.h"

namespace berth::local {
namespace {

using doctor::Result;

doctor::Finding failed(const char* name, const embedded::Finding& finding) {
  return {.name = name, .result = Result::failed, .detail = finding.what, .advice = finding.help};
}

std::vector<doctor::Finding> containers(const Config& config) {
  std::vector<doctor::Finding> found;
  try {
    for (const embedded::Finding& one :
         embedded::podman::look({.directory = local_directory(config)}))
      found.push_back({.name = "containers",
                       .result = Result::warning,
                       .detail = one.what,
                       .advice = one.help});
    found.push_back({.name = "containers", .result = Result::ok, .detail = "podman can run them"});
  } catch (const embedded::Unusable& unusable) {
    found.push_back(failed("containers", unusable.finding()));
  }
  return found;
}

doctor::Finding serving(const Config& config) {
  constexpr const char* name = "ingress";
  try {
    embedded::check_caddy();
  } catch (const embedded::Unusable& unusable) {
    return failed(name, unusable.finding());
  }
  embedded::CaddySettings settings;
  settings.directory = local_directory(config) / "caddy";
  if (embedded::Caddy::running(settings.admin_socket()))
    return {.name = name, .result = Result::ok, .detail = "Caddy serves"};
  const auto check = [](const Address& address, const char* key) {
    embedded::check_ingress_address({.host = address.host, .port = address.port}, key);
  };
  try {
    check(ingress_http_address(config), "ingress-http");
    if (const auto https = ingress_https_address(config)) check(*https, "ingress-https");
  } catch (const embedded::Unusable& unusable) {
    return failed(name, unusable.finding());
  }
  return {.name = name, .result = Result::ok, .detail = "Caddy may listen"};
}

// podman without root knows only what its own user has started. Throws DataDirError.
void require_owner(const std::filesystem::path& directory) {
  struct stat found {};
  if (::stat(directory.c_str(), &found) != 0 || found.st_uid == ::geteuid()) return;
  throw DataDirError(directory.string() + " belongs to another user; run this as that user: " +
                     "setpriv --reuid=" + std::to_string(found.st_uid) +
                     " --regid=" + std::to_string(found.st_gid) + " --clear-groups berthd local …");
}

bool is_below_one_of(const std::string& place, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(
      prefixes, [&](const std::string& prefix) { return (place + "/").starts_with(prefix + "/"); });
}

}  // namespace

int examine(const Config& config) {
  auto findings = containers(config);
  findings.push_back(serving(config));
  return doctor::print(findings);
}

int push(const Config& config, const std::string& place) {
  static const std::regex grammar("[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9._-]+)*");
  if (!std::regex_match(place, grammar) || builds::is_built(place + "/"))
    throw ConfigError("local push: `" + place +
                      "` isn't a place for images, such as registry.example.org/berth");
  require_owner(local_directory(config));
  const DataDir data(config.data_dir);
  const Clock clock;
  const OpenedDatabase opened = open_database(config, data, clock);
  const auto images = opened.database->read(builds::images_in_use);
  for (const builds::ImageInUse& image : images) {
    const std::string destination = place + "/" + image.app_id + "/" + image.name;
    const std::string pushed = [&] {
      try {
        return destination + "@" +
               embedded::podman::push({.directory = local_directory(config)}, image.image,
                                      destination);
      } catch (const embedded::Unusable& unusable) {
        throw StartError(exit_cluster_access, words_of(unusable.finding()));
      }
    }();
    opened.database->write(
        [&](db::Tx& tx) { return builds::replace_image(tx, image.app_id, image.image, pushed); });
    for (const std::string& name : image.deployments) std::cout << name << ": " << pushed << "\n";
  }
  if (images.empty())
    std::cout << "no deployment runs an image that was built on this machine\n";
  else if (!is_below_one_of(place, config.registries))
    std::cout << "Add " << place << " to registries, so that owners may name these images.\n";
  return EXIT_SUCCESS;
}

int clean(const Config& config) {
  const std::filesystem::path directory = local_directory(config);
  require_owner(directory);
  std::optional<DirLock> lock;  // no berthd runs containers meanwhile
  if (std::filesystem::exists(directory)) lock.emplace(directory);
  embedded::CaddySettings settings;
  settings.directory = directory / "caddy";
  embedded::Caddy::end(settings.admin_socket());
  embedded::podman::clean({.directory = directory});
  std::filesystem::remove_all(directory);
  std::cout << "nothing of containers is left below " << directory.string() << "\n";
  return EXIT_SUCCESS;
}

}  // namespace berth::local
