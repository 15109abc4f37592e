#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
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

// What Traefik has counted for a service since it started.
struct Traffic {
  std::array<std::int64_t, 4> by_class{};  // answers of 2xx, 3xx, 4xx and 5xx
  // How many answers took no longer than a bound, by the bound in seconds; the last bound is
  // infinite.
  std::map<double, std::int64_t> within;
  double seconds = 0;  // that all answers together took
};
using TrafficOfServices = std::map<std::string, Traffic, std::less<>>;
// The sums of traefik_service_requests_total and of the histogram
// traefik_service_request_duration_seconds, with its sum, by service. Upgraded connections (1xx)
// aren't counted.
TrafficOfServices traefik_traffic(std::string_view metrics);

// Returns what was counted between two readings. If a counter is lower in the later one, Traefik
// was restarted in between, and all of `now` is returned.
Traffic since(const Traffic& before, const Traffic& now);
// The quantile of the times of answers in milliseconds, estimated as Prometheus' histogram_quantile
// does; nothing if there were no answers. `quantile` is between 0 and 1.
std::optional<std::int64_t> answer_time(const Traffic& traffic, double quantile);

// Returns the name that Traefik's metrics have for the port of a Service.
std::string traefik_service(const std::string& name_space, const std::string& service,
                            const std::string& port);

// What each process of the ingress controller has counted since it started.
struct CountsOfProcesses {
  // By the process: its address, and when it started, so that no two processes are taken for one.
  std::map<std::string, TrafficOfServices> counts;
  bool is_complete = true;  // whether all processes have answered
  // How many requests to each service have gone on for longer than long_request. Traefik doesn't
  // say it, so that there are none.
  std::map<std::string, std::int64_t, std::less<>> long_requests = {};
};
inline constexpr std::chrono::seconds long_request{5};

// Where the requests of deployments are counted.
struct RequestCounts {
  std::string traefik_url = {};  // Traefik's metrics page, http or https; empty if there is none
  // An ingress controller that berthd runs itself, which comes before Traefik. Its services have
  // the names that Traefik would give them. Thread-safe.
  std::function<TrafficOfServices()> own = {};
  // Of that one: how many requests have gone on for longer than long_request. May be empty.
  // Thread-safe.
  std::function<std::map<std::string, std::int64_t, std::less<>>()> own_long = {};
};

// Reads the request counters of one Traefik over HTTP, or of berthd's own ingress controller.
// Thread-safe.
class TraefikMetrics {
 public:
  // If there is no source, no counts are known.
  explicit TraefikMetrics(RequestCounts source)
      : url_(std::move(source.traefik_url)),
        own_(std::move(source.own)),
        own_long_(std::move(source.own_long)) {}

  // The number of requests to the Service's port since Traefik started or first saw the Service; 0
  // if it counted none; nothing if Traefik can't be asked. Waits for at most one request to
  // Traefik.
  std::optional<std::int64_t> requests(const std::string& name_space, const std::string& service,
                                       const std::string& port);
  // Asks Traefik what it has counted for all services. Returns nothing if it doesn't answer.
  std::optional<TrafficOfServices> traffic() const;
  // The same of each process behind the URL's host: of a headless Service, those of all its pods.
  // Returns nothing if none answers. Takes some seconds at most; asks max_processes at most.
  std::optional<CountsOfProcesses> by_process() const;
  static constexpr size_t max_processes = 32;

 private:
  using SteadyClock = std::chrono::steady_clock;
  // By the addresses of one family.
  CountsOfProcesses by_process(int family) const;
  // One large page has the numbers of all deployments, so it is read once and used for everyone who
  // asks within this time.
  static constexpr std::chrono::seconds kept_for{5};

  const std::string url_;
  const std::function<TrafficOfServices()> own_;
  const std::function<std::map<std::string, std::int64_t, std::less<>>()> own_long_;
  // Held while the page is read, so that others who ask meanwhile get the same page.
  std::mutex mutex_;
  SteadyClock::time_point read_at_{};
  std::optional<std::map<std::string, std::int64_t, std::less<>>> requests_;
};

}  // namespace berth::reconcilers
