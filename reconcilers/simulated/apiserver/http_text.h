#pragma once

#include <httplib.h>

#include <string>
#include <vector>

namespace berth::simulated {

// The API group under which the metrics of pods are served.
inline constexpr const char* metrics_prefix = "/apis/metrics.k8s.io/v1beta1/";

// The segments of a path between its slashes.
std::vector<std::string> segments(const std::string& path);
// Sends a JSON answer.
void answer(httplib::Response& response, int status, const std::string& text);
// Whether a query parameter is `true` or `1`.
bool flag(const httplib::Request& request, const char* name);

}  // namespace berth::simulated
