#include "reconcilers/embedded/apiserver/typed_form.h"

#include <algorithm>
#include <array>

#include "reconcilers/embedded/apiserver/quantity.h"

namespace berth::embedded {
namespace {

template <size_t size>
bool among(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fields that are maps from arbitrary keys to strings or quantities: their entries stay whatever
// they contain, and an empty map is left out.
constexpr std::array<std::string_view, 9> text_maps{"labels",      "annotations", "data",
                                                    "stringData",  "binaryData",  "nodeSelector",
                                                    "matchLabels", "selector",    "parameters"};
constexpr std::array<std::string_view, 11> quantity_maps{"limits",
                                                         "requests",
                                                         "hard",
                                                         "used",
                                                         "capacity",
                                                         "allocatable",
                                                         "default",
                                                         "defaultRequest",
                                                         "max",
                                                         "min",
                                                         "maxLimitRequestRatio"};
constexpr std::array<std::string_view, 10> plain_booleans{
    "hostNetwork",  "hostPID",   "hostIPC",
    "stdin",        "stdinOnce", "tty",
    "readOnly",     "paused",    "publishNotReadyAddresses",
    "unschedulable"};
constexpr std::array<std::string_view, 11> plain_numbers{
    "initialDelaySeconds", "minReadySeconds",      "hostPort",           "nodePort",
    "readyReplicas",       "availableReplicas",    "updatedReplicas",    "unavailableReplicas",
    "observedGeneration",  "fullyLabeledReplicas", "healthCheckNodePort"};

void canonical(Json& value) {
  if (const auto quantity = quantity_of(value)) value = quantity->text();
}

bool left_out(std::string_view name, const Json& value, std::string_view parent) {
  if (value.is_null()) return true;
  if (value.is_array()) return value.empty();
  if (value.is_object())
    return value.empty() && (among(text_maps, name) || among(quantity_maps, name));
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  if (value.is_boolean()) return !value.get<bool>() && among(plain_booleans, name);
  if (value.is_number_integer() && value == 0)
    return among(plain_numbers, name) ||
           // A DeploymentStatus leaves out `replicas` if it is 0. A ReplicaSetStatus always has the
           // field, which the controllers set.
           (name == "replicas" && parent == "deployment status");
  return false;
}

// The name of a field tells whether it is a map, except for Deployment.spec.selector, which is an
// object.
bool is_text_map(std::string_view name, const Json& value) {
  if (!among(text_maps, name)) return false;
  return name != "selector" ||
         !(value.contains("matchLabels") || value.contains("matchExpressions"));
}

void tidy(Json& value, std::string_view name) {
  if (value.is_array()) {
    for (Json& item : value) tidy(item, "");
    return;
  }
  if (!value.is_object()) return;
  if (among(quantity_maps, name)) {
    for (Json& amount : value) canonical(amount);
    return;
  }
  for (auto at = value.begin(); at != value.end();) {
    const std::string& field = at.key();
    if (!(is_text_map(field, *at) && at->is_object())) tidy(*at, field);
    if (field == "sizeLimit") canonical(*at);
    at = left_out(field, *at, name) ? value.erase(at) : std::next(at);
  }
}

}  // namespace

void to_typed_form(Json& object) {
  if (text_at(object, "kind") == "Deployment" && object.contains("status"))
    tidy(object["status"], "deployment status");
  tidy(object, "");
}

}  // namespace berth::embedded
