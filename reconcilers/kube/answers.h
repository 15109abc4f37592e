#pragma once

#include <string>
#include <string_view>

#include "reconcilers/kube/client.h"
#include "reconcilers/kube/connection.h"

namespace berth::kube {

// Parses JSON that the API server sent; `what` names the request in error messages. Throws ApiError
// with status 0 if the text isn't a JSON object, or is nested deeper than any object of Kubernetes,
// because copying such an object could exhaust the stack. The sets of fields in managedFields
// (fieldsV1), which are most of many objects, are strings with the JSON of the set.
Object parse_object(std::string_view text, const std::string& what);

// The error that an answer reports: the message, reason and code of its Status object, or else the
// beginning of its body. `what` names the request.
ApiError error_of(const HttpAnswer& answer, const std::string& what);

// The reason of an ApiError with status 0 if the server sent nothing for watch_silence, as it does
// when a container whose log is followed writes nothing.
inline constexpr std::string_view reason_of_silence = "Silence";

// Like error_of(), for a Status object inside a watch's ERROR event.
ApiError error_of_status(const Object& status, const std::string& what);

// Whether an answer says that the object doesn't exist: a 404 with a Status object. A 404 without
// one means that the path is unknown, for example that of a custom resource that isn't installed.
bool says_not_found(const HttpAnswer& answer);

}  // namespace berth::kube
