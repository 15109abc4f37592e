#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace berth::reconcilers {

// The number of requests that Traefik has answered, by service
// (`<namespace>-<service>-<port>@kubernetes`): the sums of traefik_service_requests_total in
// Prometheus' text format (doc.traefik.io, "Metrics", "Service Metrics").
std::map<std::string, std::int64_t, std::less<>> traefik_requests(std::string_view metrics);

// Reads the request counters of one Traefik over HTTP. Thread-safe.
class TraefikMetrics {
 public:
  // `url` is that of Traefik's metrics page, http or https. If it is empty, no counts are known.
  explicit TraefikMetrics(std::string url) : url_(std::move(url)) {}

  // The number of requests to the Service's port since Traefik started or first saw the Service; 0
  // if it counted none; nothing if Traefik can't be asked. Waits for at most one request to
  // Traefik.
  std::optional<std::int64_t> requests(const std::string& name_space, const std::string& service,
                                       const std::string& port);

 private:
  using SteadyClock = std::chrono::steady_clock;
  // One large page has the numbers of all deployments, so it is read once and used for everyone who
  // asks within this time.
  static constexpr std::chrono::seconds kept_for{5};

  const std::string url_;
  // Held while the page is read, so that others who ask meanwhile get the same page.
  std::mutex mutex_;
  SteadyClock::time_point read_at_{};
  std::optional<std::map<std::string, std::int64_t, std::less<>>> requests_;
};

}  // namespace berth::reconcilers
