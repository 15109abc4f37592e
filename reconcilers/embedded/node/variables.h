#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/store.h"
#include "reconcilers/embedded/node/runtime.h"

// What a kubelet reads from Secrets and ConfigMaps before it starts a container. The caller must
// hold the store's mutex.
namespace berth::embedded {

struct Variables {
  std::map<std::string, std::string> env;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string missing;  // why the container can't be created yet, in the kubelet's words; or empty
};

// Resolves `envFrom`, `env`, and the references `$(NAME)` in variables, command and arguments
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
// Of `fieldRef` it knows the fields that don't change while a pod runs; resourceFieldRef gives
// nothing.
Variables variables_of(const Store& store, const Json& pod, const Json& spec);

// The logins for the image's registry in the pod's pull secrets
// (https://kubernetes.io/docs/concepts/containers/images/#config-json).
struct Logins {
  std::vector<RegistryLogin> found;
  std::vector<std::string> missing;  // pull secrets that don't exist
};
Logins logins_of(const Store& store, const Json& pod, const std::string& image);

// The message of FailedMount for a volume that couldn't be set up (kubernetes,
// pkg/volume/util/operationexecutor).
std::string failed_set_up(const std::string& volume, const std::string& why);
// The message of FailedMount for a volume whose Secret doesn't exist; empty if there is none.
std::string failed_mount(const Store& store, const Json& pod);

}  // namespace berth::embedded
