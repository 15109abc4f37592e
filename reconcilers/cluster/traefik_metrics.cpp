#include "reconcilers/cluster/traefik_metrics.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "controller/base/curl.h"
#include "controller/base/log.h"
#include "controller/base/url.h"

namespace berth::reconcilers {
namespace {

constexpr std::string_view requests_family = "traefik_service_requests_total{";
constexpr std::string_view duration_family = "traefik_service_request_duration_seconds_bucket{";
constexpr std::string_view seconds_family = "traefik_service_request_duration_seconds_sum{";
// A page about a thousand services has some 10 MB, because it has histograms as well as counters.
constexpr size_t max_page_bytes = size_t(64) << 20;
constexpr long connect_timeout_ms = 1'000;
constexpr long timeout_ms = 3'000;
// How long reading the pages of several processes takes before the others are left out.
constexpr std::chrono::seconds all_within{5};

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

// `resolved` says which address the URL's host has, as libcurl's CURLOPT_RESOLVE takes it; empty if
// the system is to say it.
std::optional<std::string> page_of(const std::string& url, const std::string& resolved = "") {
  curl::Easy easy;
  std::string page;
  curl::Lines addresses;
  if (!resolved.empty()) {
    addresses.add(resolved);
    easy.set(CURLOPT_RESOLVE, addresses);
  }
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

// Returns the value of a label whose name is given as `{name="` or `,name="`; empty if the line
// hasn't got it.
std::string_view label_in(std::string_view line, std::string_view name) {
  for (size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    if (at == 0 || (line[at - 1] != '{' && line[at - 1] != ',')) continue;
    const size_t from = at + name.size();
    return line.substr(from, line.find('"', from) - from);
  }
  return {};
}

// The number at the beginning of the text.
std::optional<double> first_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);  // "+Inf"
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return {};
  return value;
}

// The addresses of a host in one family, AF_INET or AF_INET6; empty if the host has none.
std::vector<std::string> addresses_of(const Url& url, int family) {
  std::string host = url.host;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> freed(list, freeaddrinfo);
  std::vector<std::string> found;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      found.push_back(family == AF_INET6 ? "[" + std::string(text.data()) + "]" : text.data());
  }
  return found;
}

// When the process of the page started, as it says it; empty if it doesn't.
std::string start_of(std::string_view page) {
  constexpr std::string_view name = "\nprocess_start_time_seconds ";
  const size_t at = page.find(name);
  if (at == std::string_view::npos) return {};
  page.remove_prefix(at + name.size());
  return std::string(page.substr(0, page.find('\n')));
}

// Calls `use(line, service, count)` for each line of one of the families.
template <typename Use>
void each_count(std::string_view metrics, std::initializer_list<std::string_view> families,
                Use&& use) {
  while (!metrics.empty()) {
    const size_t end = std::min(metrics.find('\n'), metrics.size());
    const std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    const auto is_of = [line](std::string_view one) { return line.starts_with(one); };
    if (std::ranges::none_of(families, is_of)) continue;
    const std::string_view service = label_in(line, "service=\"");
    const size_t close = line.rfind("} ");
    if (service.empty() || close == std::string_view::npos) continue;
    if (const auto count = first_number(line.substr(close + 2))) use(line, service, *count);
  }
}

// How many answers were counted for a service.
std::int64_t answers(const TrafficOfServices& services, const std::string& service) {
  const auto found = services.find(service);
  if (found == services.end()) return 0;
  return std::accumulate(found->second.by_class.begin(), found->second.by_class.end(),
                         std::int64_t(0));
}

}  // namespace

std::map<std::string, std::int64_t, std::less<>> traefik_requests(std::string_view metrics) {
  std::map<std::string, std::int64_t, std::less<>> requests;
  each_count(metrics, {requests_family},
             [&](std::string_view, std::string_view service, double count) {
               requests[std::string(service)] += std::llround(count);
             });
  return requests;
}

TrafficOfServices traefik_traffic(std::string_view metrics) {
  TrafficOfServices all;
  each_count(metrics, {requests_family, duration_family, seconds_family},
             [&](std::string_view line, std::string_view service, double count) {
               auto found = all.find(service);
               if (found == all.end()) found = all.emplace(service, Traffic()).first;
               if (line.starts_with(requests_family)) {
                 const std::string_view code = label_in(line, "code=\"");
                 const int of_class = code.empty() ? 0 : code.front() - '2';
                 if (of_class >= 0 && of_class < int(found->second.by_class.size()))
                   found->second.by_class.at(size_t(of_class)) += std::llround(count);
               } else if (line.starts_with(seconds_family)) {
                 found->second.seconds += count;
               } else if (const auto bound = first_number(label_in(line, "le=\""))) {
                 found->second.within[*bound] += std::llround(count);
               }
             });
  return all;
}

Traffic since(const Traffic& before, const Traffic& now) {
  Traffic passed = now;
  for (size_t i = 0; i < now.by_class.size(); ++i) {
    passed.by_class.at(i) -= before.by_class.at(i);
    if (passed.by_class.at(i) < 0) return now;
  }
  for (auto& [bound, count] : passed.within) {
    const auto earlier = before.within.find(bound);
    if (earlier != before.within.end()) count -= earlier->second;
    if (count < 0) return now;
  }
  passed.seconds = std::max(0.0, passed.seconds - before.seconds);
  return passed;
}

std::optional<std::int64_t> answer_time(const Traffic& traffic, double quantile) {
  constexpr double ms_of_second = 1'000;
  if (traffic.within.empty() || traffic.within.rbegin()->second == 0) return std::nullopt;
  const double rank = quantile * double(traffic.within.rbegin()->second);
  double lower = 0;
  std::int64_t below = 0;
  for (const auto& [bound, count] : traffic.within) {
    if (double(count) >= rank && count > below) {
      if (std::isinf(bound)) break;  // the greatest finite bound is all that is known
      const double part = (rank - double(below)) / double(count - below);
      return std::llround((lower + (bound - lower) * part) * ms_of_second);
    }
    if (!std::isinf(bound)) lower = bound;
    below = count;
  }
  return std::llround(lower * ms_of_second);
}

std::string traefik_service(const std::string& name_space, const std::string& service,
                            const std::string& port) {
  return name_space + "-" + service + "-" + port + "@kubernetes";
}

std::optional<TrafficOfServices> TraefikMetrics::traffic() const {
  if (own_) return own_();
  if (url_.empty()) return std::nullopt;
  const auto page = page_of(url_);
  return page ? std::optional(traefik_traffic(*page)) : std::nullopt;
}

std::optional<CountsOfProcesses> TraefikMetrics::by_process() const {
  if (own_) {
    CountsOfProcesses all{.counts = {{"", own_()}}};
    if (own_long_) all.long_requests = own_long_();
    return all;
  }
  // A pod may have an address of each family, and is to be asked once.
  for (const int family : {AF_INET, AF_INET6})
    if (auto all = by_process(family); !all.counts.empty()) return all;
  return std::nullopt;
}

CountsOfProcesses TraefikMetrics::by_process(int family) const {
  CountsOfProcesses all;
  const auto url = parse_url(url_);
  if (!url) return all;
  const auto begin = SteadyClock::now();
  // A host that is an IPv6 address is no name to libcurl.
  const bool has_name = !url->host.starts_with('[');
  const std::string port = std::to_string(url->port == 0 ? port_of_scheme(url->scheme) : url->port);
  size_t asked = 0;
  for (const std::string& address : addresses_of(*url, family)) {
    const bool may_ask = ++asked <= max_processes && SteadyClock::now() - begin < all_within;
    const std::string resolved = has_name ? url->host + ":" + port + ":" + address : "";
    const auto page = may_ask ? page_of(url_, resolved) : std::nullopt;
    if (page)
      all.counts.emplace(address + " " + start_of(*page), traefik_traffic(*page));
    else
      all.is_complete = false;
  }
  return all;
}

std::optional<std::int64_t> TraefikMetrics::requests(const std::string& name_space,
                                                     const std::string& service,
                                                     const std::string& port) {
  if (own_) return answers(own_(), traefik_service(name_space, service, port));
  if (url_.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (read_at_ == SteadyClock::time_point{} || SteadyClock::now() - read_at_ > kept_for) {
    const auto page = page_of(url_);
    requests_ = page ? std::optional(traefik_requests(*page)) : std::nullopt;
    read_at_ = SteadyClock::now();
  }
  if (!requests_) return std::nullopt;
  const auto found = requests_->find(traefik_service(name_space, service, port));
  return found == requests_->end() ? 0 : found->second;
}

}  // namespace berth::reconcilers
