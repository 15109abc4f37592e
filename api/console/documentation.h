#pragma once

#include "controller/transport/http.h"

namespace berth::api::console {

// Serves the documentation, to everybody. Answers the request and returns true if it is for /docs
// or something below it; otherwise returns false. Thread-safe.
bool answer_documentation(const Request& request, Response& response);

}  // namespace berth::api::console
