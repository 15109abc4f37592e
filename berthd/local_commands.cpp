#include "berthd/local_commands.h"

#include <iostream>

#include "berthd/dir_lock.h"
#include "berthd/doctor.h"
#include "berthd/local_machine.h"
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

}  // namespace

int examine(const Config& config) {
  auto findings = containers(config);
  findings.push_back(serving(config));
  return doctor::print(findings);
}

int clean(const Config& config) {
  const DirLock lock(config.data_dir);  // no berthd runs meanwhile
  const std::filesystem::path directory = local_directory(config);
  embedded::CaddySettings settings;
  settings.directory = directory / "caddy";
  embedded::Caddy::end(settings.admin_socket());
  embedded::podman::clean({.directory = directory});
  std::filesystem::remove_all(directory);
  std::cout << "nothing of containers is left below " << directory.string() << "\n";
  return EXIT_SUCCESS;
}

}  // namespace berth::local
