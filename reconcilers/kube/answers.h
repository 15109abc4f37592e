#pragma once

#include <string>
#include <string_view>

#include "reconcilers/kube/client.h"
#include "reconcilers/kube/connection.h"

namespace berth::kube {

// JSON that the API server sent; `what` names the request. Throws ApiError (status 0) where it is
// none, or nested deeper than any object of Kubernetes (copying it would exhaust the stack).
Object parse_object(std::string_view text, const std::string& what);

// The refusal in an answer: the Status object's message, reason and code, or what else the body
// says. `what` names the request.
ApiError error_of(const HttpAnswer& answer, const std::string& what);

// The same for a Status object inside a watch's ERROR event.
ApiError error_of_status(const Object& status, const std::string& what);

// Whether an answer says that the object isn't there: 404 with a Status. Without one it is the path
// that is unknown, such as that of a custom resource that isn't installed.
bool says_not_found(const HttpAnswer& answer);

}  // namespace berth::kube
