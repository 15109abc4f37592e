#include "reconcilers/embedded/ingress/served_certificates.h"

#include <cstring>
#include <ctime>
#include <optional>

#include "controller/base/curl.h"
#include "controller/base/log.h"

namespace berth::embedded {
namespace {

// How many certificates are ordered at the same time. A certificate authority answers within some
// seconds; Let's Encrypt takes 300 orders in three hours.
constexpr size_t most_orders = 4;
// Caddy gives an order up after three minutes.
constexpr long order_timeout_ms = 200'000;

// How often a handshake may be refused without a reason before the host counts as failed.
constexpr int most_refusals = 3;

int is_over(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

// A time as libcurl shows it: `Nov 26 23:50:27 2026 GMT`, or `2026-11-26 23:50:27 GMT`.
std::optional<Instant> time_in(const char* text) {
  for (const char* format : {"%b %d %H:%M:%S %Y", "%Y-%m-%d %H:%M:%S"}) {
    std::tm parts{};
    if (strptime(text, format, &parts) == nullptr) continue;
    return Instant(
        std::chrono::duration_cast<Instant::duration>(std::chrono::seconds(timegm(&parts))));
  }
  return std::nullopt;
}

// The first certificate that the server has presented.
ServedCertificate presented(curl::Easy& easy) {
  curl_certinfo* chain = nullptr;
  ServedCertificate found;
  if (curl_easy_getinfo(easy.get(), CURLINFO_CERTINFO, &chain) != CURLE_OK || chain == nullptr ||
      chain->num_of_certs < 1)
    return found;
  std::optional<Instant> from;
  std::optional<Instant> until;
  for (const curl_slist* line = chain->certinfo[0]; line != nullptr; line = line->next) {
    constexpr const char* start = "Start date:";
    constexpr const char* end = "Expire date:";
    if (std::strncmp(line->data, start, std::strlen(start)) == 0)
      from = time_in(line->data + std::strlen(start));
    if (std::strncmp(line->data, end, std::strlen(end)) == 0)
      until = time_in(line->data + std::strlen(end));
  }
  if (!from || !until) return found;
  return {.stage = ServedCertificate::Stage::served, .from = *from, .until = *until};
}

}  // namespace

Handshake handshake_with(const std::string& address) {
  const std::string port = address.substr(address.rfind(':') + 1);
  return [address, port](const std::string& host, const std::stop_token& stop) {
    curl::Easy easy;
    curl::Lines where;
    where.add("::" + address);
    easy.set(CURLOPT_URL, "https://" + host + ":" + port + "/");
    easy.set(CURLOPT_CONNECT_TO, where);
    easy.set(CURLOPT_PROXY, "");
    easy.set(CURLOPT_NOSIGNAL, 1L);
    easy.set(CURLOPT_CONNECT_ONLY, 1L);
    easy.set(CURLOPT_CERTINFO, 1L);
    // The certificate is looked at, and not relied on: it is that of berth's own server. Its name
    // is checked all the same.
    easy.set(CURLOPT_SSL_VERIFYPEER, 0L);
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, order_timeout_ms);
    easy.set(CURLOPT_TIMEOUT_MS, order_timeout_ms);
    easy.set(CURLOPT_NOPROGRESS, 0L);
    easy.set(CURLOPT_XFERINFOFUNCTION, &is_over);
    easy.set(CURLOPT_XFERINFODATA, &stop);
    const CURLcode result = easy.perform();
    if (result == CURLE_OK) return presented(easy);
    if (result == CURLE_COULDNT_CONNECT) return ServedCertificate{};
    return ServedCertificate{
        .stage = ServedCertificate::Stage::failed,
        .reason = "no certificate was served: " + std::string(curl_easy_strerror(result))};
  };
}

ServedCertificates::ServedCertificates(Handshake handshake, std::chrono::milliseconds pause)
    : handshake_(std::move(handshake)), pause_(pause) {
  for (size_t i = 0; i < most_orders; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

ServedCertificates::~ServedCertificates() = default;

ServedCertificate ServedCertificates::of(const std::string& host, const std::string& order) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = hosts_.try_emplace(host);
  Host& entry = found->second;
  const bool failed_before = entry.state.stage == ServedCertificate::Stage::failed;
  if (is_new || (entry.order != order && failed_before)) {
    entry.state = {};
    entry.refusals = 0;
    queue(host, entry);
  }
  entry.order = order;
  return entry.state;
}

void ServedCertificates::queue(const std::string& host, Host& entry) {
  if (entry.is_queued) return;
  entry.is_queued = true;
  queue_.push_back(host);
  changed_.notify_one();
}

void ServedCertificates::look_again(const std::string& host) {
  const std::lock_guard lock(mutex_);
  if (const auto found = hosts_.find(host); found != hosts_.end()) queue(host, found->second);
}

void ServedCertificates::forget(const std::string& host) {
  const std::lock_guard lock(mutex_);
  hosts_.erase(host);
}

bool ServedCertificates::may_have(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  if (own_hosts_.contains(host)) return true;
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.state.stage != ServedCertificate::Stage::failed;
}

void ServedCertificates::failed(const std::string& host, const std::string& why) {
  log::warning("a certificate couldn't be issued", {{"host", host}, {"error", why}});
  const std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  // A certificate that is served stays valid while its renewal fails.
  if (found->second.state.stage == ServedCertificate::Stage::served) return;
  found->second.state = {.stage = ServedCertificate::Stage::failed, .reason = why};
}

void ServedCertificates::always(const std::set<std::string>& hosts) {
  const std::lock_guard lock(mutex_);
  own_hosts_ = hosts;
}

bool ServedCertificates::may_try_again(const std::string& host,
                                       const ServedCertificate& seen) const {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return false;
  return seen.stage == ServedCertificate::Stage::pending ||
         (found->second.state.stage == ServedCertificate::Stage::pending &&
          found->second.refusals < most_refusals);
}

void ServedCertificates::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !queue_.empty(); })) {
    const std::string host = queue_.front();
    queue_.pop_front();
    lock.unlock();
    ServedCertificate seen = handshake_(host, stop);
    lock.lock();
    // Caddy wasn't there, or refused without having asked the authority: its limiter of orders
    // (certmagic's RingBufferRateLimiter) refuses one of two that come at the same moment, also if
    // no limit is set. What the authority said would be in Caddy's log within the pause.
    if (seen.stage != ServedCertificate::Stage::served && may_try_again(host, seen)) {
      changed_.wait_for(lock, stop, pause_, [] { return false; });
      if (stop.stop_requested()) return;
      if (may_try_again(host, seen)) {
        Host& entry = hosts_.at(host);
        entry.is_queued = false;
        if (seen.stage == ServedCertificate::Stage::failed) ++entry.refusals;
        queue(host, entry);
        continue;
      }
    }
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) continue;
    Host& entry = found->second;
    entry.is_queued = false;
    if (seen.stage == ServedCertificate::Stage::served ||
        entry.state.stage == ServedCertificate::Stage::pending) {
      // If it failed, Caddy's log usually has said why already.
      entry.state = std::move(seen);
    }
  }
}

}  // namespace berth::embedded
