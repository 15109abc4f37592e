#include "reconcilers/cluster/traefik_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "controller/base/curl.h"
#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

constexpr std::string_view family = "traefik_service_requests_total{";
constexpr std::string_view service_label = "service=\"";
// A page about a thousand services has some 10 MB, because it has histograms as well as counters.
constexpr size_t max_page_bytes = size_t(64) << 20;
constexpr long connect_timeout_ms = 1'000;
constexpr long timeout_ms = 3'000;

size_t take(char* data, size_t, size_t count, void* into) noexcept {
  auto& page = *static_cast<std::string*>(into);
  if (page.size() + count > max_page_bytes) return 0;
  try {
    page.append(data, count);
  } catch (const std::exception&) {
    return 0;
  }
  return count;
}

std::optional<std::string> page_of(const std::string& url) {
  curl::Easy easy;
  std::string page;
  easy.set(CURLOPT_URL, url);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_PROXY, "");  // also ignores a proxy set in the environment
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, connect_timeout_ms);
  easy.set(CURLOPT_TIMEOUT_MS, timeout_ms);
  easy.set(CURLOPT_FAILONERROR, 1L);
  easy.set(CURLOPT_USERAGENT, "berth");
  easy.set(CURLOPT_WRITEFUNCTION, &take);
  easy.set(CURLOPT_WRITEDATA, &page);
  const CURLcode result = easy.perform();
  if (result == CURLE_OK) return page;
  log::warning("Traefik's metrics couldn't be read", {{"error", curl_easy_strerror(result)}});
  return std::nullopt;
}

}  // namespace

std::map<std::string, std::int64_t, std::less<>> traefik_requests(std::string_view metrics) {
  std::map<std::string, std::int64_t, std::less<>> requests;
  while (!metrics.empty()) {
    const size_t end = std::min(metrics.find('\n'), metrics.size());
    const std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    if (!line.starts_with(family)) continue;
    const size_t label = line.find(service_label);
    const size_t close = line.rfind("} ");
    if (label == std::string_view::npos || close == std::string_view::npos) continue;
    const size_t from = label + service_label.size();
    const std::string_view name = line.substr(from, line.find('"', from) - from);
    double count = 0;
    const std::string_view value = line.substr(close + 2);
    if (std::from_chars(value.data(), value.data() + value.size(), count).ec == std::errc())
      requests[std::string(name)] += std::llround(count);
  }
  return requests;
}

std::optional<std::int64_t> TraefikMetrics::requests(const std::string& name_space,
                                                     const std::string& service,
                                                     const std::string& port) {
  if (url_.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (read_at_ == SteadyClock::time_point{} || SteadyClock::now() - read_at_ > kept_for) {
    const auto page = page_of(url_);
    requests_ = page ? std::optional(traefik_requests(*page)) : std::nullopt;
    read_at_ = SteadyClock::now();
  }
  if (!requests_) return std::nullopt;
  const auto found = requests_->find(name_space + "-" + service + "-" + port + "@kubernetes");
  return found == requests_->end() ? 0 : found->second;
}

}  // namespace berth::reconcilers
