#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace berth::reconcilers {

// By service (`<namespace>-<service>-<port>@kubernetes`), the requests that Traefik has answered:
// the sums of traefik_service_requests_total in Prometheus' text format
// (doc.traefik.io, "Metrics", "Service Metrics").
std::map<std::string, std::int64_t, std::less<>> traefik_requests(std::string_view metrics);

// What one Traefik counts, asked over HTTP. Thread-safe.
class TraefikMetrics {
 public:
  // Of Traefik's own metrics page, http or https; empty: there is none.
  explicit TraefikMetrics(std::string url) : url_(std::move(url)) {}

  // Requests to the Service's port since Traefik started, or knows the Service; 0 where it counted
  // none; nothing where it can't be asked. Takes as long as one question, at most.
  std::optional<std::int64_t> requests(const std::string& name_space, const std::string& service,
                                       const std::string& port);

 private:
  using SteadyClock = std::chrono::steady_clock;
  // All deployments are on the one page, which is large: it is read once for all who ask.
  static constexpr std::chrono::seconds kept_for{5};

  const std::string url_;
  std::mutex mutex_;  // held while the page is read: who asks meanwhile gets the same one
  SteadyClock::time_point read_at_{};
  std::optional<std::map<std::string, std::int64_t, std::less<>>> requests_;
};

}  // namespace berth::reconcilers
