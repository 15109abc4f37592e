#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace berth::api {

// The metrics http_requests_total{method,route,code} and http_request_duration_seconds{route}.
// Thread-safe.
class HttpMetrics {
 public:
  explicit HttpMetrics(prometheus::Registry& registry);
  // `route` is the name of the operation. It must not be the path, since there is no limit to the
  // number of different paths.
  void observe(const std::string& method, const std::string& route, int code,
               std::chrono::nanoseconds took);

 private:
  struct Series {
    prometheus::Counter* count;
    prometheus::Histogram* seconds;
  };
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& durations_;
  std::mutex mutex_;
  std::unordered_map<std::string, Series> series_;
};

}  // namespace berth::api
