#include "reconcilers/embedded/apiserver/validation.h"

#include <set>

#include "controller/base/crypto.h"
#include "reconcilers/embedded/apiserver/name_rules.h"
#include "reconcilers/embedded/apiserver/quantity.h"
#include "reconcilers/embedded/apiserver/selectors.h"

namespace berth::embedded {
namespace {

using Causes = std::vector<Cause>;

// A malformed quantity is reported while the object is read, before all other checks.
struct NotAQuantity {};

std::string index(const std::string& field, size_t at) {
  return field + "[" + std::to_string(at) + "]";
}

void check_name(const Type& type, const Json& object, Causes& causes) {
  const std::string name = name_of(object);
  if (name.empty()) {
    causes.push_back(required("metadata.name", "name or generateName is required"));
    return;
  }
  const std::string wrong = type.id == Kind::namespaces ? wrong_label(name)
                            : type.id == Kind::services ? wrong_service_name(name)
                                                        : wrong_subdomain(name);
  if (!wrong.empty()) causes.push_back(invalid_value("metadata.name", name, wrong));
}

void check_labels(const Json& labels, const std::string& field, Causes& causes) {
  for (const auto& [key, value] : labels.items()) {
    const std::string wrong_key = wrong_label_key(key);
    if (!wrong_key.empty()) causes.push_back(invalid_value(field, key, wrong_key));
    const std::string wrong_value =
        value.is_string() ? wrong_label_value(value.get<std::string>()) : "must be a string";
    if (!wrong_value.empty()) causes.push_back(invalid_value(field, value, wrong_value));
  }
}

void check_annotations(const Json& annotations, Causes& causes) {
  // TotalAnnotationSizeLimitB of k8s.io/apimachinery.
  static constexpr size_t most = 262'144;
  size_t size = 0;
  for (const auto& [key, value] : annotations.items()) {
    const std::string wrong = wrong_label_key(key);
    if (!wrong.empty()) causes.push_back(invalid_value("metadata.annotations", key, wrong));
    size += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  if (size > most)
    causes.push_back({"FieldValueTooLong", "Too long: may not be more than 262144 bytes",
                      "metadata.annotations"});
}

void check_port(const Json& port, const std::string& field, Causes& causes) {
  if (port.is_number_integer() && (port < 1 || port > 65535))
    causes.push_back(invalid_value(field, port, "must be between 1 and 65535, inclusive"));
}

void check_quantities(const Json& amounts, const std::string& field, Causes& causes) {
  for (const auto& [resource, amount] : amounts.items()) {
    const auto quantity = quantity_of(amount);
    if (!quantity) throw NotAQuantity{};
    if (quantity->milli() < 0)
      causes.push_back(invalid_value(field + "[" + resource + "]", amount,
                                     "must be greater than or equal to 0"));
  }
}

void check_resources(const Json& container, const std::string& field, Causes& causes) {
  const Json& limits = at_path(container, "/resources/limits");
  const Json& requests = at_path(container, "/resources/requests");
  check_quantities(limits, field + ".resources.limits", causes);
  check_quantities(requests, field + ".resources.requests", causes);
  for (const auto& [resource, amount] : requests.items())
    if (limits.contains(resource) && *quantity_of(amount) > *quantity_of(limits[resource]))
      causes.push_back(invalid_value(field + ".resources.requests", amount,
                                     "must be less than or equal to " + resource + " limit of " +
                                         quantity_of(limits[resource])->text()));
}

// Exactly one of several alternatives has to be given, such as a probe's handlers or a volume's
// sources.
void check_one_of(const Json& object, const std::vector<std::string>& kinds,
                  const std::string& field, const std::string& what, Causes& causes) {
  int found = 0;
  for (const std::string& kind : kinds)
    if (object.contains(kind) && ++found > 1)
      causes.push_back(forbidden_field(field + "." + kind, "may not specify more than 1 " + what));
  if (found == 0) causes.push_back(required(field, "must specify a " + what));
}

void check_probes(const Json& container, const std::string& field, Causes& causes) {
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (container.contains(name))
      check_one_of(container[name], {"exec", "httpGet", "tcpSocket", "grpc"}, field + "." + name,
                   "handler type", causes);
}

void check_security_context(const Json& container, const std::string& field, Causes& causes) {
  const Json& context = at_path(container, "/securityContext");
  if (context.value("allowPrivilegeEscalation", true) || !context.value("privileged", false))
    return;
  causes.push_back(
      invalid_value(field + ".securityContext", context,
                    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
}

void check_container(const Json& container, const std::string& field,
                     const std::set<std::string>& volumes, Causes& causes) {
  const std::string name = text_at(container, "name");
  if (name.empty())
    causes.push_back(required(field + ".name"));
  else if (const std::string wrong = wrong_label(name); !wrong.empty())
    causes.push_back(invalid_value(field + ".name", name, wrong));
  if (text_at(container, "image").empty()) causes.push_back(required(field + ".image"));
  size_t at = 0;
  std::set<std::string> port_names;
  for (const Json& port : at_path(container, "/ports")) {
    const std::string here = index(field + ".ports", at++);
    const std::string port_name = text_at(port, "name");
    if (!port_name.empty() && !port_names.insert(port_name).second)
      causes.push_back(duplicate_value(here + ".name", port_name));
    if (!port.contains("containerPort"))
      causes.push_back(required(here + ".containerPort"));
    else
      check_port(port["containerPort"], here + ".containerPort", causes);
  }
  at = 0;
  for (const Json& variable : at_path(container, "/env")) {
    if (text_at(variable, "name").empty())
      causes.push_back(required(index(field + ".env", at) + ".name"));
    ++at;
  }
  at = 0;
  for (const Json& mount : at_path(container, "/volumeMounts")) {
    const std::string here = index(field + ".volumeMounts", at++);
    if (text_at(mount, "mountPath").empty()) causes.push_back(required(here + ".mountPath"));
    if (!volumes.contains(text_at(mount, "name")))
      causes.push_back(
          {"FieldValueNotFound", "Not found: \"" + text_at(mount, "name") + "\"", here + ".name"});
  }
  check_resources(container, field, causes);
  check_probes(container, field, causes);
  if (container.contains("securityContext")) check_security_context(container, field, causes);
}

void check_volumes(const Json& spec, const std::string& field, Causes& causes) {
  size_t at = 0;
  for (const Json& volume : at_path(spec, "/volumes")) {
    const std::string here = index(field + ".volumes", at++);
    if (text_at(volume, "name").empty()) causes.push_back(required(here + ".name"));
    check_one_of(volume,
                 {"emptyDir", "hostPath", "secret", "configMap", "projected", "downwardAPI",
                  "persistentVolumeClaim", "nfs", "csi", "ephemeral", "image"},
                 here, "volume type", causes);
  }
}

void check_pod_spec(const Json& spec, const std::string& field, Causes& causes) {
  const Json& containers = at_path(spec, "/containers");
  if (!containers.is_array() || containers.empty())
    causes.push_back(required(field + ".containers"));
  std::set<std::string> volumes;
  for (const Json& volume : at_path(spec, "/volumes")) volumes.insert(text_at(volume, "name"));
  check_volumes(spec, field, causes);
  std::set<std::string> names;
  for (const char* list : {"containers", "initContainers"}) {
    size_t at = 0;
    for (const Json& container : at_path(spec, (std::string("/") + list).c_str())) {
      const std::string here = index(field + "." + list, at++);
      check_container(container, here, volumes, causes);
      if (!names.insert(text_at(container, "name")).second)
        causes.push_back(duplicate_value(here + ".name", text_at(container, "name")));
    }
  }
}

// Deployments and ReplicaSets need a selector that matches their template's labels and never
// changes.
void check_workload(const Json& live, const Json& object, Causes& causes) {
  const Json& selector = at_path(object, "/spec/selector");
  const Json& labels = at_path(object, "/spec/template/metadata/labels");
  if (selector.is_null()) causes.push_back(required("spec.selector"));
  if (selector.is_object() && selector.empty())
    causes.push_back(
        invalid_value("spec.selector", selector, "empty selector is invalid for deployment"));
  if (selector.is_null() ||
      (selector.is_object() && !selector.empty() && !label_selector_matches(selector, labels)))
    causes.push_back(invalid_value("spec.template.metadata.labels", labels,
                                   "`selector` does not match template `labels`"));
  if (number_at(object, "/spec/replicas", 1) < 0)
    causes.push_back(invalid_value("spec.replicas", at_path(object, "/spec/replicas"),
                                   "must be greater than or equal to 0"));
  check_labels(labels, "spec.template.labels", causes);
  check_pod_spec(at_path(object, "/spec/template/spec"), "spec.template.spec", causes);
  if (text_at(at_path(object, "/spec/template/spec"), "restartPolicy") != "Always")
    causes.push_back(unsupported_value("spec.template.spec.restartPolicy",
                                       at_path(object, "/spec/template/spec/restartPolicy"),
                                       {"Always"}));
  if (!live.is_null() && at_path(live, "/spec/selector") != selector)
    causes.push_back(invalid_value("spec.selector", selector, "field is immutable"));
}

void check_deployment(const Json& object, Causes& causes) {
  const Json& strategy = at_path(object, "/spec/strategy");
  const std::string kind = text_at(strategy, "type");
  if (kind == "Recreate" && strategy.contains("rollingUpdate"))
    causes.push_back(forbidden_field("spec.strategy.rollingUpdate",
                                     "may not be specified when strategy `type` is 'Recreate'"));
  else if (kind != "Recreate" && kind != "RollingUpdate")
    causes.push_back(unsupported_value("spec.strategy.type", kind, {"Recreate", "RollingUpdate"}));
  const Json& surge = at_path(strategy, "/rollingUpdate/maxSurge");
  const Json& unavailable = at_path(strategy, "/rollingUpdate/maxUnavailable");
  if (surge == 0 && unavailable == 0)
    causes.push_back(invalid_value("spec.strategy.rollingUpdate.maxUnavailable", 0,
                                   "may not be 0 when `maxSurge` is 0"));
  if (number_at(object, "/spec/progressDeadlineSeconds", 600) <=
      number_at(object, "/spec/minReadySeconds", 0))
    causes.push_back(invalid_value("spec.progressDeadlineSeconds",
                                   at_path(object, "/spec/progressDeadlineSeconds"),
                                   "must be greater than minReadySeconds"));
}

// A Job's pods are its own: the API server makes the selector, and neither it nor the template ever
// changes (pkg/apis/batch/validation).
void check_job(const Json& live, const Json& object, Causes& causes) {
  for (const char* number : {"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds",
                             "ttlSecondsAfterFinished"})
    if (const Json& value = at_path(object, ("/spec/" + std::string(number)).c_str());
        value.is_number_integer() && value < 0)
      causes.push_back(invalid_value("spec." + std::string(number), value,
                                     "must be greater than or equal to 0"));
  const Json& policy = at_path(object, "/spec/podReplacementPolicy");
  if (policy != "Failed" && policy != "TerminatingOrFailed")
    causes.push_back(
        unsupported_value("spec.podReplacementPolicy", policy, {"Failed", "TerminatingOrFailed"}));
  check_labels(at_path(object, "/spec/template/metadata/labels"), "spec.template.labels", causes);
  check_pod_spec(at_path(object, "/spec/template/spec"), "spec.template.spec", causes);
  const std::string restarts = text_at(at_path(object, "/spec/template/spec"), "restartPolicy");
  if (restarts == "Always")
    causes.push_back(
        required("spec.template.spec.restartPolicy", R"(valid values: "OnFailure", "Never")"));
  else if (restarts != "OnFailure" && restarts != "Never")
    causes.push_back(
        unsupported_value("spec.template.spec.restartPolicy", restarts, {"OnFailure", "Never"}));
  if (live.is_null()) return;
  for (const char* fixed : {"completions", "selector", "template", "completionMode"}) {
    const std::string path = "/spec/" + std::string(fixed);
    if (at_path(live, path.c_str()) != at_path(object, path.c_str()))
      causes.push_back(invalid_value("spec." + std::string(fixed), at_path(object, path.c_str()),
                                     "field is immutable"));
  }
}

// A pod's spec can't change, except for its images and a few other fields.
void check_pod(const Json& live, const Json& object, Causes& causes) {
  check_pod_spec(at_path(object, "/spec"), "spec", causes);
  if (live.is_null()) return;
  Json before = at_path(live, "/spec");
  Json after = at_path(object, "/spec");
  for (Json* spec : {&before, &after}) {
    for (const char* free :
         {"tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds"})
      spec->erase(free);
    for (Json& container : (*spec)["containers"]) container.erase("image");
  }
  if (before != after)
    causes.push_back(
        forbidden_field("spec",
                        "pod updates may not change fields other than `spec.containers[*].image`,"
                        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
                        "tolerations` (only additions to "
                        "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
                        "be set to 1 if it was "
                        "previously negative)"));
}

void check_service(const Json& live, const Json& object, Causes& causes) {
  const Json& spec = at_path(object, "/spec");
  const Json& ports = at_path(spec, "/ports");
  const bool external = text_at(spec, "type") == "ExternalName";
  if (!external && text_at(spec, "clusterIP") != "None" && ports.empty())
    causes.push_back(required("spec.ports"));
  std::set<std::string> numbers;
  size_t at = 0;
  for (const Json& port : ports) {
    const std::string here = index("spec.ports", at++);
    if (ports.size() > 1 && text_at(port, "name").empty())
      causes.push_back(required(here + ".name"));
    if (!port.contains("port")) {
      causes.push_back(invalid_value(here + ".port", 0, "must be between 1 and 65535, inclusive"));
      continue;
    }
    check_port(port["port"], here + ".port", causes);
    check_port(at_path(port, "/targetPort"), here + ".targetPort", causes);
    if (!numbers.insert(port["port"].dump() + text_at(port, "protocol")).second)
      causes.push_back(duplicate_value(here, port));
  }
  check_labels(at_path(spec, "/selector"), "spec.selector", causes);
  const std::string before = text_at(at_path(live, "/spec"), "clusterIP");
  if (!before.empty() && text_at(spec, "clusterIP") != before)
    causes.push_back(invalid_value("spec.clusterIPs[0]", spec.value("clusterIPs", Json::array()),
                                   "may not change once set"));
}

void check_ingress_path(const Json& path, const std::string& field, Causes& causes) {
  const std::string kind = text_at(path, "pathType");
  if (kind.empty())
    causes.push_back(required(field + ".pathType", "pathType must be specified"));
  else if (kind != "Exact" && kind != "Prefix" && kind != "ImplementationSpecific")
    causes.push_back(unsupported_value(field + ".pathType", kind,
                                       {"Exact", "ImplementationSpecific", "Prefix"}));
  if (kind != "ImplementationSpecific" && !text_at(path, "path").starts_with('/'))
    causes.push_back(
        invalid_value(field + ".path", text_at(path, "path"), "must be an absolute path"));
  if (text_at(at_path(path, "/backend/service"), "name").empty() &&
      at_path(path, "/backend/resource").is_null())
    causes.push_back(
        required(field + ".backend", "must specify either a service or resource backend"));
}

void check_ingress(const Json& object, Causes& causes) {
  const Json& rules = at_path(object, "/spec/rules");
  if (rules.empty() && at_path(object, "/spec/defaultBackend").is_null())
    causes.push_back(invalid_value("spec", Json::array(),
                                   "either `defaultBackend` or `rules` must be specified"));
  size_t at = 0;
  for (const Json& rule : rules) {
    const std::string here = index("spec.rules", at++);
    const std::string host = text_at(rule, "host");
    const std::string wrong = host.empty()             ? ""
                              : host.starts_with("*.") ? wrong_wildcard_host(host)
                                                       : wrong_subdomain(host);
    if (!wrong.empty()) causes.push_back(invalid_value(here + ".host", host, wrong));
    size_t path_at = 0;
    for (const Json& path : at_path(rule, "/http/paths"))
      check_ingress_path(path, index(here + ".http.paths", path_at++), causes);
  }
}

void check_data(const Json& live, const Json& object, Causes& causes) {
  // MaxSecretSize of k8s.io/kubernetes: 1 MiB of keys and values.
  static constexpr size_t most = 1'048'576;
  size_t size = 0;
  for (const auto& [key, value] : at_path(object, "/data").items()) {
    if (key.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
        std::string::npos)
      causes.push_back(invalid_value(
          "data[" + key + "]", key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
          "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
          "'[-._a-zA-Z0-9]+')"));
    if (text_at(object, "kind") == "Secret") {
      const auto plain =
          value.is_string() ? parse_base64(value.get_ref<const std::string&>()) : std::nullopt;
      if (!plain)
        throw bad_request(
            "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input "
            "byte 0");
      size += plain->size();
    }
  }
  if (size > most)
    causes.push_back({"FieldValueTooLong", "Too long: may not be more than 1048576 bytes", "data"});
  if (live.is_null()) return;
  if (at_path(live, "/type") != at_path(object, "/type"))
    causes.push_back(invalid_value("type", at_path(object, "/type"), "field is immutable"));
  if (at_path(live, "/immutable") == true && at_path(live, "/data") != at_path(object, "/data"))
    causes.push_back(forbidden_field("data", "field is immutable when `immutable` is set"));
}

void check_disruption_budget(const Json& object, Causes& causes) {
  const Json& spec = at_path(object, "/spec");
  if (spec.contains("minAvailable") && spec.contains("maxUnavailable"))
    causes.push_back(invalid_value("spec", Json::object(),
                                   "minAvailable and maxUnavailable cannot be both set"));
}

void check_kind(const Type& type, const Json& live, const Json& object, Causes& causes) {
  switch (type.id) {
    case Kind::deployments:
      check_workload(live, object, causes);
      check_deployment(object, causes);
      break;
    case Kind::replica_sets:
      check_workload(live, object, causes);
      break;
    case Kind::jobs:
      check_job(live, object, causes);
      break;
    case Kind::pods:
      check_pod(live, object, causes);
      break;
    case Kind::services:
      check_service(live, object, causes);
      break;
    case Kind::ingresses:
      check_ingress(object, causes);
      break;
    case Kind::pod_disruption_budgets:
      check_disruption_budget(object, causes);
      break;
    case Kind::secrets:
    case Kind::config_maps:
      check_data(live, object, causes);
      break;
    case Kind::resource_quotas:
      check_quantities(at_path(object, "/spec/hard"), "spec.hard", causes);
      break;
    case Kind::certificates:
      if (text_at(at_path(object, "/spec"), "secretName").empty())
        causes.push_back(required("spec.secretName"));
      if (!at_path(object, "/spec/issuerRef").is_object())
        causes.push_back(required("spec.issuerRef"));
      break;
    default:
      break;
  }
}

}  // namespace

void validate(const Type& type, const Json& live, const Json& object) {
  Causes causes;
  check_name(type, object, causes);
  try {
    check_kind(type, live, object, causes);
  } catch (const NotAQuantity&) {
    throw undecodable(type,
                      "quantities must match the regular expression "
                      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  check_labels(at_path(object, "/metadata/labels"), "metadata.labels", causes);
  check_annotations(at_path(object, "/metadata/annotations"), causes);
  if (!causes.empty()) throw invalid(type, name_of(object), causes);
}

}  // namespace berth::embedded
