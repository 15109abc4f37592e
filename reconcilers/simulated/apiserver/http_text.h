#pragma once

#include <httplib.h>

#include <string>
#include <vector>

namespace berth::simulated {

// Where a program beside the API server serves the metrics of pods.
inline constexpr const char* metrics_prefix = "/apis/metrics.k8s.io/v1beta1/";

// The parts of a path between its slashes.
std::vector<std::string> segments(const std::string& path);
// A JSON answer.
void answer(httplib::Response& response, int status, const std::string& text);
// Whether a parameter of the query is `true` or `1`.
bool flag(const httplib::Request& request, const char* name);

}  // namespace berth::simulated
