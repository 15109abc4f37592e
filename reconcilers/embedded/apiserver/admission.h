#pragma once

#include "reconcilers/embedded/apiserver/store.h"

// The admission plugins of an API server that affect berth's objects
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).
namespace berth::embedded {

// NamespaceLifecycle. Throws Refusal 404 if the namespace doesn't exist, and 403 while it is being
// deleted.
void check_namespace(const Store& store, const Type& type, const Json& object);

// Applies LimitRanger's defaults, ServiceAccount, and the tolerations that every pod gets. Throws
// Refusal 403 if the service account doesn't exist.
void complete_pod(const Store& store, Json& pod);

// Checks LimitRanger's bounds and PodSecurity (the namespace's label
// `pod-security.kubernetes.io/enforce`, levels restricted and baseline). Throws Refusal 403.
void check_pod_policies(const Store& store, const Json& pod);

}  // namespace berth::embedded
