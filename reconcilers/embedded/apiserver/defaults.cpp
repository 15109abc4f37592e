#include "reconcilers/embedded/apiserver/defaults.h"

#include <utility>

#include "controller/base/crypto.h"
#include "reconcilers/embedded/apiserver/typed_form.h"

namespace berth::embedded {
namespace {

void fallback(Json& object, const char* field, Json value) {
  if (!object.contains(field)) object[field] = std::move(value);
}

// The field if it is a list or an object; null otherwise.
Json* part(Json& object, const char* field) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(field);
  return found == object.end() || !(found->is_object() || found->is_array()) ? nullptr : &*found;
}

void probe_defaults(Json& probe) {
  fallback(probe, "timeoutSeconds", 1);
  fallback(probe, "periodSeconds", 10);
  fallback(probe, "successThreshold", 1);
  fallback(probe, "failureThreshold", 3);
  if (Json* get = part(probe, "httpGet")) {
    fallback(*get, "path", "/");
    fallback(*get, "scheme", "HTTP");
  }
}

// Images without a tag, or with the tag `latest`, are always pulled; others only if the node
// doesn't have them.
std::string pull_policy(const std::string& image) {
  if (image.find('@') != std::string::npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const size_t colon = image.find(':', slash == std::string::npos ? 0 : slash);
  return colon == std::string::npos || image.substr(colon) == ":latest" ? "Always" : "IfNotPresent";
}

void container_defaults(Json& container) {
  fallback(container, "imagePullPolicy", pull_policy(text_at(container, "image")));
  fallback(container, "terminationMessagePath", "/dev/termination-log");
  fallback(container, "terminationMessagePolicy", "File");
  fallback(container, "resources", Json::object());
  if (Json* ports = part(container, "ports"))
    for (Json& port : *ports) fallback(port, "protocol", "TCP");
  for (const char* name : {"readinessProbe", "livenessProbe", "startupProbe"})
    if (Json* probe = part(container, name)) probe_defaults(*probe);
  if (Json* env = part(container, "env"))
    for (Json& variable : *env)
      if (Json* from = part(variable, "valueFrom"))
        if (Json* field = part(*from, "fieldRef")) fallback(*field, "apiVersion", "v1");
}

void volume_defaults(Json& volume) {
  for (const char* source : {"secret", "configMap", "projected", "downwardAPI"})
    if (Json* found = part(volume, source)) fallback(*found, "defaultMode", 420);
  if (volume.size() == 1) volume["emptyDir"] = Json::object();
}

void pod_spec_defaults(Json& spec) {
  fallback(spec, "dnsPolicy", "ClusterFirst");
  fallback(spec, "restartPolicy", "Always");
  fallback(spec, "schedulerName", "default-scheduler");
  fallback(spec, "terminationGracePeriodSeconds", 30);
  fallback(spec, "securityContext", Json::object());
  // The deprecated name of the same field, which is written as well.
  if (spec.contains("serviceAccountName"))
    spec["serviceAccount"] = spec["serviceAccountName"];
  else if (spec.contains("serviceAccount"))
    spec["serviceAccountName"] = spec["serviceAccount"];
  for (const char* list : {"containers", "initContainers"})
    if (Json* containers = part(spec, list))
      for (Json& container : *containers) container_defaults(container);
  if (Json* volumes = part(spec, "volumes"))
    for (Json& volume : *volumes) volume_defaults(volume);
}

// Requests that aren't given equal the limits.
void pod_defaults(Json& object) {
  Json& spec = object["spec"];
  pod_spec_defaults(spec);
  fallback(spec, "enableServiceLinks", true);
  if (Json* containers = part(spec, "containers"))
    for (Json& container : *containers)
      if (Json* limits = part(container["resources"], "limits"))
        for (const auto& [resource, amount] : limits->items())
          fallback(container["resources"]["requests"], resource.c_str(), amount);
}

void template_defaults(Json& spec) {
  if (!part(spec, "template")) return;
  fallback(spec["template"], "metadata", Json::object());
  fallback(spec["template"], "spec", Json::object());
  if (part(spec["template"], "spec")) pod_spec_defaults(spec["template"]["spec"]);
}

void deployment_defaults(Json& object) {
  Json& spec = object["spec"];
  fallback(spec, "replicas", 1);
  fallback(spec, "strategy", Json::object());
  fallback(spec["strategy"], "type", "RollingUpdate");
  if (spec["strategy"]["type"] == "RollingUpdate") {
    fallback(spec["strategy"], "rollingUpdate", Json::object());
    fallback(spec["strategy"]["rollingUpdate"], "maxSurge", "25%");
    fallback(spec["strategy"]["rollingUpdate"], "maxUnavailable", "25%");
  }
  fallback(spec, "revisionHistoryLimit", 10);
  fallback(spec, "progressDeadlineSeconds", 600);
  template_defaults(spec);
}

// A Job with neither number runs one pod (pkg/apis/batch/v1/defaults.go).
void job_defaults(Json& object) {
  Json& spec = object["spec"];
  if (!spec.contains("completions") && !spec.contains("parallelism")) spec["completions"] = 1;
  fallback(spec, "parallelism", 1);
  fallback(spec, "backoffLimit", 6);
  fallback(spec, "completionMode", "NonIndexed");
  fallback(spec, "suspend", false);
  fallback(spec, "podReplacementPolicy",
           spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  template_defaults(spec);
}

void service_defaults(const Json& live, Json& object) {
  Json& spec = object["spec"];
  fallback(spec, "type", "ClusterIP");
  fallback(spec, "sessionAffinity", "None");
  if (Json* ports = part(spec, "ports"))
    for (Json& port : *ports) {
      fallback(port, "protocol", "TCP");
      if (port.contains("port")) fallback(port, "targetPort", port["port"]);
    }
  if (spec["type"] == "ExternalName") return;
  for (const char* kept : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    if (const Json& before = at_path(live, "/spec"); before.contains(kept))
      fallback(spec, kept, before[kept]);
  if (spec.contains("clusterIP")) fallback(spec, "clusterIPs", Json::array({spec["clusterIP"]}));
  fallback(spec, "ipFamilies", {"IPv4"});
  fallback(spec, "ipFamilyPolicy", "SingleStack");
  fallback(spec, "internalTrafficPolicy", "Cluster");
}

void policy_defaults(Json& object) {
  Json& spec = object["spec"];
  fallback(spec, "podSelector", Json::object());
  if (!spec.contains("policyTypes")) {
    spec["policyTypes"] = {"Ingress"};
    if (spec.contains("egress")) spec["policyTypes"].push_back("Egress");
  }
  for (const char* direction : {"ingress", "egress"})
    if (Json* rules = part(spec, direction))
      for (Json& rule : *rules)
        if (Json* ports = part(rule, "ports"))
          for (Json& port : *ports) fallback(port, "protocol", "TCP");
}

void limit_range_defaults(Json& object) {
  Json* limits = part(object["spec"], "limits");
  if (!limits) return;
  for (Json& item : *limits) {
    if (text_at(item, "type") != "Container") continue;
    const auto inherit = [&](const char* to, const char* from) {
      if (const Json* source = part(item, from))
        for (const auto& [resource, amount] : source->items())
          fallback(item[to], resource.c_str(), amount);
    };
    inherit("default", "max");
    inherit("defaultRequest", "default");
    inherit("defaultRequest", "min");
  }
}

void secret_defaults(Json& object) {
  fallback(object, "type", "Opaque");
  if (Json* plain = part(object, "stringData"))
    for (const auto& [name, value] : plain->items())
      if (value.is_string()) object["data"][name] = base64(value.get<std::string>());
  object.erase("stringData");
}

void namespace_defaults(Json& object) {
  object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name_of(object);
  fallback(object["spec"], "finalizers", {"kubernetes"});
  fallback(object["status"], "phase", "Active");
}

// These fields of an Event are always written.
void event_defaults(Json& object) {
  for (const char* time : {"eventTime", "firstTimestamp", "lastTimestamp"})
    fallback(object, time, nullptr);
  for (const char* who : {"reportingComponent", "reportingInstance"}) fallback(object, who, "");
  fallback(object, "source", Json::object());
}

}  // namespace

void set_defaults(const Type& type, const Json& live, Json& object) {
  if (type.origin == Origin::custom) return;
  to_typed_form(object);
  switch (type.id) {
    case Kind::namespaces:
      namespace_defaults(object);
      break;
    case Kind::secrets:
      secret_defaults(object);
      break;
    case Kind::pods:
      pod_defaults(object);
      break;
    case Kind::events:
      event_defaults(object);
      break;
    case Kind::services:
      service_defaults(live, object);
      break;
    case Kind::limit_ranges:
      limit_range_defaults(object);
      break;
    case Kind::deployments:
      deployment_defaults(object);
      break;
    case Kind::replica_sets:
      fallback(object["spec"], "replicas", 1);
      template_defaults(object["spec"]);
      break;
    case Kind::jobs:
      job_defaults(object);
      break;
    case Kind::network_policies:
      policy_defaults(object);
      break;
    default:
      break;
  }
  if (type.status == HasStatus::yes) fallback(object, "status", Json::object());
  if (type.id == Kind::services || type.id == Kind::ingresses)
    fallback(object["status"], "loadBalancer", Json::object());
}

}  // namespace berth::embedded
