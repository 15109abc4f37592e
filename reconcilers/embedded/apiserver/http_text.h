#pragma once

#include <string>
#include <vector>

#include "controller/transport/http.h"

namespace berth::embedded {

// The API group under which the metrics of pods are served.
inline constexpr const char* metrics_prefix = "/apis/metrics.k8s.io/v1beta1/";

// Returns the segments of a path between its slashes.
std::vector<std::string> segments(const std::string& path);
// Gives a JSON answer.
void answer(api::Response& response, int status, const std::string& text);
// Gives an answer of any media type.
void answer(api::Response& response, int status, const std::string& type, const std::string& text);
// Returns the value of a parameter of the query, and "" if there is none.
std::string parameter(const api::Request& request, std::string_view name);
// Whether a parameter of the query is `true` or `1`.
bool flag(const api::Request& request, const char* name);

}  // namespace berth::embedded
