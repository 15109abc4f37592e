#include "reconcilers/embedded/apiserver/admission.h"

#include <algorithm>

#include "reconcilers/embedded/apiserver/pod_security.h"
#include "reconcilers/embedded/apiserver/quantity.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

// A text such as `cpu, memory limit for container web`, which LimitRanger uses to record what it
// filled in.
std::string filled(Json& amounts, const Json& defaults, const std::string& what,
                   const std::string& container) {
  std::string names;
  for (const auto& [resource, amount] : defaults.items()) {
    if (amounts.contains(resource)) continue;
    amounts[resource] = amount;
    names += (names.empty() ? "" : ", ") + resource;
  }
  return names.empty() ? "" : names + " " + what + " for container " + container;
}

void limit_range_defaults(const Json& range, Json& pod, std::vector<std::string>& notes) {
  for (const Json& item : at_path(range, "/spec/limits")) {
    if (text_at(item, "type") != "Container") continue;
    for (Json& container : pod["spec"]["containers"]) {
      const std::string name = text_at(container, "name");
      Json requests = container["resources"].value("requests", Json::object());
      Json limits = container["resources"].value("limits", Json::object());
      for (const std::string& note :
           {filled(requests, at_path(item, "/defaultRequest"), "request", name),
            filled(limits, at_path(item, "/default"), "limit", name)})
        if (!note.empty()) notes.push_back(note);
      if (!requests.empty()) container["resources"]["requests"] = std::move(requests);
      if (!limits.empty()) container["resources"]["limits"] = std::move(limits);
    }
  }
}

void token_volume(Json& pod, const Json& account) {
  const Json& wanted = at_path(pod, "/spec/automountServiceAccountToken");
  const Json& by_default = at_path(account, "/automountServiceAccountToken");
  if (wanted == false || (wanted.is_null() && by_default == false)) return;
  static constexpr const char* name = "kube-api-access-token";
  pod["spec"]["volumes"].push_back(
      {{"name", name},
       {"projected",
        {{"defaultMode", 420},
         {"sources",
          {{{"serviceAccountToken", {{"expirationSeconds", 3607}, {"path", "token"}}}}}}}}});
  for (Json& container : pod["spec"]["containers"])
    container["volumeMounts"].push_back(
        {{"name", name},
         {"readOnly", true},
         {"mountPath", "/var/run/secrets/kubernetes.io/serviceaccount"}});
}

void check_bounds(const Json& item, const Json& container, const std::string& pod) {
  const auto refuse = [&](const std::string& why) {
    throw forbidden(type_of(Kind::pods), pod, why);
  };
  const Json& limits = at_path(container, "/resources/limits");
  const Json& requests = at_path(container, "/resources/requests");
  for (const auto& [resource, bound] : at_path(item, "/max").items()) {
    const std::string text =
        "maximum " + resource + " usage per Container is " + quantity_of(bound)->text();
    if (!limits.contains(resource)) refuse(text + ".  No limit is specified");
    if (*quantity_of(limits[resource]) > *quantity_of(bound))
      refuse(text + ", but limit is " + quantity_of(limits[resource])->text());
  }
  for (const auto& [resource, bound] : at_path(item, "/min").items()) {
    const std::string text =
        "minimum " + resource + " usage per Container is " + quantity_of(bound)->text();
    if (!requests.contains(resource)) refuse(text + ".  No request is specified");
    if (*quantity_of(requests[resource]) < *quantity_of(bound))
      refuse(text + ", but request is " + quantity_of(requests[resource])->text());
  }
}

}  // namespace

void check_namespace(const Store& store, const Type& type, const Json& object) {
  if (!type.namespaced()) return;
  const std::string name = namespace_of(object);
  const ObjectPtr found = store.find({Kind::namespaces, "", name});
  if (!found) throw not_found(type_of(Kind::namespaces), name);
  if (at_path(*found, "/metadata/deletionTimestamp").is_null()) return;
  throw forbidden(
      type, name_of(object),
      "unable to create new content in namespace " + name + " because it is being terminated",
      {{"NamespaceTerminating", "namespace " + name + " is being terminated",
        "metadata.namespace"}});
}

void complete_pod(const Store& store, Json& pod) {
  const std::string name_space = namespace_of(pod);
  Json& spec = pod["spec"];
  std::vector<std::string> notes;
  for (const ObjectPtr& range : store.list(Kind::limit_ranges, name_space))
    limit_range_defaults(*range, pod, notes);
  std::string joined;
  for (const std::string& note : notes) joined += (joined.empty() ? "" : "; ") + note;
  if (!joined.empty())
    pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] =
        "LimitRanger plugin set: " + joined;

  if (text_at(spec, "serviceAccountName").empty()) spec["serviceAccountName"] = "default";
  spec["serviceAccount"] = spec["serviceAccountName"];
  const std::string account_name = text_at(spec, "serviceAccountName");
  const ObjectPtr account = store.find({Kind::service_accounts, name_space, account_name});
  if (!account)
    throw forbidden(type_of(Kind::pods), name_of(pod),
                    "error looking up service account " + name_space + "/" + account_name +
                        ": serviceaccount \"" + account_name + "\" not found");
  token_volume(pod, *account);
  if (!spec.contains("imagePullSecrets") && account->contains("imagePullSecrets"))
    spec["imagePullSecrets"] = (*account)["imagePullSecrets"];
  for (const char* trouble : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
    spec["tolerations"].push_back({{"key", trouble},
                                   {"operator", "Exists"},
                                   {"effect", "NoExecute"},
                                   {"tolerationSeconds", 300}});
  spec["priority"] = 0;
  spec["preemptionPolicy"] = "PreemptLowerPriority";
}

void check_pod_policies(const Store& store, const Json& pod) {
  const std::string name_space = namespace_of(pod);
  for (const ObjectPtr& range : store.list(Kind::limit_ranges, name_space))
    for (const Json& item : at_path(*range, "/spec/limits"))
      if (text_at(item, "type") == "Container")
        for (const Json& container : at_path(pod, "/spec/containers"))
          check_bounds(item, container, name_of(pod));
  const ObjectPtr found = store.find({Kind::namespaces, "", name_space});
  if (!found) return;
  const Json& labels = at_path(*found, "/metadata/labels");
  const std::string violations = pod_security_violations(
      text_at(labels, "pod-security.kubernetes.io/enforce"), at_path(pod, "/spec"));
  if (violations.empty()) return;
  const std::string version = text_at(labels, "pod-security.kubernetes.io/enforce-version");
  throw forbidden(type_of(Kind::pods), name_of(pod),
                  "violates PodSecurity \"" +
                      text_at(labels, "pod-security.kubernetes.io/enforce") + ":" +
                      (version.empty() ? "latest" : version) + "\": " + violations);
}

}  // namespace berth::embedded
