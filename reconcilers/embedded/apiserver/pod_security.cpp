#include "reconcilers/embedded/apiserver/pod_security.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

using Names = std::vector<std::string>;

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + "\"";
  return text;
}

std::string containers(const Names& names) {
  return (names.size() == 1 ? "container " : "containers ") + listed(names);
}

Names containers_that(const Json& spec, const std::function<bool(const Json&)>& is_wrong) {
  Names names;
  for (const char* list : {"/initContainers", "/containers"})
    for (const Json& container : at_path(spec, list))
      if (is_wrong(container)) names.push_back(text_at(container, "name"));
  return names;
}

void check_baseline(const Json& spec, Names& violations) {
  std::string shared;
  for (const char* field : {"hostNetwork", "hostPID", "hostIPC"})
    if (at_path(spec, ("/" + std::string(field)).c_str()) == true)
      shared += (shared.empty() ? "" : ", ") + std::string(field) + "=true";
  if (!shared.empty()) violations.push_back("host namespaces (" + shared + ")");
  const Names privileged = containers_that(spec, [](const Json& container) {
    return at_path(container, "/securityContext/privileged") == true;
  });
  if (!privileged.empty())
    violations.push_back("privileged (" + containers(privileged) +
                         " must not set securityContext.privileged=true)");
  Names paths;
  for (const Json& volume : at_path(spec, "/volumes"))
    if (volume.contains("hostPath")) paths.push_back(text_at(volume, "name"));
  if (!paths.empty())
    violations.push_back("hostPath volumes (" +
                         std::string(paths.size() == 1 ? "volume " : "volumes ") + listed(paths) +
                         ")");
}

bool drops_all(const Json& container) {
  const Json& drop = at_path(container, "/securityContext/capabilities/drop");
  return std::find(drop.begin(), drop.end(), "ALL") != drop.end();
}

bool allowed_profile(const Json& profile) {
  return profile == "RuntimeDefault" || profile == "Localhost";
}

void check_volume_types(const Json& spec, Names& violations) {
  for (const Json& volume : at_path(spec, "/volumes"))
    for (const auto& [source, value] : volume.items()) {
      static const Names allowed{"name",
                                 "configMap",
                                 "csi",
                                 "downwardAPI",
                                 "emptyDir",
                                 "ephemeral",
                                 "persistentVolumeClaim",
                                 "projected",
                                 "secret"};
      if (std::find(allowed.begin(), allowed.end(), source) == allowed.end())
        violations.push_back("restricted volume types (volume \"" + text_at(volume, "name") +
                             "\" uses restricted volume type \"" + source + "\")");
    }
}

void check_users(const Json& spec, Names& violations) {
  const bool pod_says = at_path(spec, "/securityContext/runAsNonRoot") == true;
  const Names roots = containers_that(spec, [&](const Json& container) {
    const Json& own = at_path(container, "/securityContext/runAsNonRoot");
    return own.is_null() ? !pod_says : own != true;
  });
  if (!roots.empty())
    violations.push_back("runAsNonRoot != true (pod or " + containers(roots) +
                         " must set securityContext.runAsNonRoot=true)");
  if (at_path(spec, "/securityContext/runAsUser") == 0)
    violations.push_back("runAsUser=0 (pod must not set runAsUser=0)");
  const Names zero = containers_that(spec, [](const Json& container) {
    return at_path(container, "/securityContext/runAsUser") == 0;
  });
  if (!zero.empty())
    violations.push_back("runAsUser=0 (" + containers(zero) + " must not set runAsUser=0)");
}

void check_restricted(const Json& spec, Names& violations) {
  const Names escalating = containers_that(spec, [](const Json& container) {
    return at_path(container, "/securityContext/allowPrivilegeEscalation") != false;
  });
  if (!escalating.empty())
    violations.push_back("allowPrivilegeEscalation != false (" + containers(escalating) +
                         " must set securityContext.allowPrivilegeEscalation=false)");
  const Names capable =
      containers_that(spec, [](const Json& container) { return !drops_all(container); });
  if (!capable.empty())
    violations.push_back("unrestricted capabilities (" + containers(capable) +
                         " must set securityContext.capabilities.drop=[\"ALL\"])");
  check_volume_types(spec, violations);
  check_users(spec, violations);
  const bool pod_profile = allowed_profile(at_path(spec, "/securityContext/seccompProfile/type"));
  const Names unconfined = containers_that(spec, [&](const Json& container) {
    const Json& own = at_path(container, "/securityContext/seccompProfile/type");
    return own.is_null() ? !pod_profile : !allowed_profile(own);
  });
  if (!unconfined.empty())
    violations.push_back(
        "seccompProfile (pod or " + containers(unconfined) +
        " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")");
}

}  // namespace

std::string pod_security_violations(const std::string& level, const Json& spec) {
  Names violations;
  if (level == "baseline" || level == "restricted") check_baseline(spec, violations);
  if (level == "restricted") check_restricted(spec, violations);
  return joined(violations, ", ");
}

}  // namespace berth::embedded
