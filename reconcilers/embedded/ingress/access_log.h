#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "controller/base/descriptor.h"

namespace berth::embedded {

// What Caddy has answered for a host since this process began to count.
struct HostTraffic {
  // The upper ends of the ranges of times that are counted, in seconds; a last range has no end.
  static constexpr std::array<double, 13> bounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3,
                                                    0.5,   0.8,  1.2,   2.5,  5,   10};
  std::array<std::int64_t, 4> by_class{};                // answers of 2xx, 3xx, 4xx and 5xx
  std::array<std::int64_t, bounds.size() + 1> within{};  // each range by itself
  double seconds = 0;                                    // that all answers together took
};

// Receives the lines that Caddy logs (caddy_config.cpp), as datagrams: Caddy never waits for
// berthd, which may be busy or gone. Counts requests by host, and keeps why certificates couldn't
// be issued. A line takes about a microsecond. The kernel keeps lines while this process is busy;
// if there are more than fit, lost() says how many were dropped.
//
// Any process of this machine can send datagrams to the port, so only lines with the secret count.
// Only hosts that are known are counted, so that callers can't fill the memory with host names.
// Thread-safe.
class AccessLog {
 public:
  // Called on the thread that reads, with the host and the reason, as Caddy says it.
  using CertificateFailure = std::function<void(const std::string& host, const std::string& why)>;

  // Listens on 127.0.0.1; `port` 0 lets the system choose one, and so does one that is taken.
  // Throws std::system_error.
  AccessLog(int port, std::string secret, CertificateFailure on_failure);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  int port() const { return port_; }
  // From now on this host is counted, or isn't. What was counted for it is forgotten with it.
  void add(const std::string& host);
  void remove(const std::string& host);
  // Returns what was counted for a host; nothing if it isn't known.
  std::optional<HostTraffic> of(const std::string& host) const;
  std::map<std::string, HostTraffic> all() const;
  // How many lines the kernel has dropped since the start.
  std::uint64_t lost() const { return lost_; }

  // Takes one line. Public for tests.
  void take(std::string_view line);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void run(const std::stop_token& stop);
  void note_loss(std::uint32_t dropped);
  void take_request(std::string_view line);
  void take_trouble(std::string_view line);

  const std::string mark_;  // what a line contains if Caddy has written it
  const CertificateFailure on_failure_;
  Descriptor socket_;
  Descriptor wake_;
  int port_ = 0;
  mutable std::mutex mutex_;  // guards hosts_
  std::unordered_map<std::string, HostTraffic, Hash, std::equal_to<>> hosts_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::uint32_t dropped_ = 0;                      // as the kernel has counted last
  std::map<std::string, std::string> challenges_;  // why one has failed, by host; of the thread
  std::jthread thread_;
};

}  // namespace berth::embedded
