#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/clock.h"

namespace berth::embedded {

// How it stands with the certificate of one host name.
struct ServedCertificate {
  enum class Stage {
    pending,  // it is being ordered, or not yet
    served,   // visitors get it
    failed    // it couldn't be issued; `reason` says why
  };
  Stage stage = Stage::pending;
  Instant from{};
  Instant until{};
  std::string reason = {};
};

// What a server presents to a visitor of a host name: the outcome of one TLS handshake. `stage` is
// pending if there is no server, so that it should be tried again.
using Handshake =
    std::function<ServedCertificate(const std::string& host, const std::stop_token& stop)>;

// Makes handshakes with the server at this address (127.0.0.1:443). One takes up to three minutes,
// because Caddy orders a missing certificate meanwhile.
Handshake handshake_with(const std::string& address);

// Sees to it that Caddy orders the certificates of the hosts that may have one, and says how it
// stands with each. Caddy orders a certificate at the first handshake for its host (on_demand); so
// that no visitor has to wait for it, the first handshake is made here. Thread-safe.
class ServedCertificates {
 public:
  // `pause` is the time until a host whose handshake came to nothing is tried again.
  explicit ServedCertificates(Handshake handshake,
                              std::chrono::milliseconds pause = std::chrono::seconds(1));
  ~ServedCertificates();

  // How it stands with this host, whose certificate is ordered if it wasn't yet. `order` names what
  // asks for it: if an order has failed, the next one is made for another name only, because a
  // certificate authority limits failures. Doesn't wait.
  ServedCertificate of(const std::string& host, const std::string& order);
  // Forgets a host that may have no certificate any more.
  void forget(const std::string& host);
  // Looks at a served host again, because its certificate may have been renewed.
  void look_again(const std::string& host);

  // Whether Caddy may order or renew a certificate for this host: it was asked for by of(), and
  // didn't fail.
  bool may_have(const std::string& host) const;
  // Caddy says that it can't get a certificate.
  void failed(const std::string& host, const std::string& why);
  // Hosts may always have a certificate if they are berthd's own.
  void always(const std::set<std::string>& hosts);

 private:
  struct Host {
    std::string order;
    ServedCertificate state;
    bool is_queued = false;  // or looked at just now
    int refusals = 0;        // handshakes that failed, and nobody said why
  };

  // Needs the lock. Whether the host is worth another handshake after this one.
  bool may_try_again(const std::string& host, const ServedCertificate& seen) const;
  void queue(const std::string& host, Host& entry);
  void run(const std::stop_token& stop);

  const Handshake handshake_;
  const std::chrono::milliseconds pause_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Host> hosts_;
  std::set<std::string> own_hosts_;
  std::deque<std::string> queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace berth::embedded
