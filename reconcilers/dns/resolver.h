#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

// Asks the DNS by means of c-ares: what berth has to know about a custom domain before a
// certificate is ordered for it.
namespace berth::dns {

enum class Type { a, aaaa, txt };

struct Answer {
  enum class Kind {
    found,
    no_such_name,  // NXDOMAIN for the name, or for the last name of its CNAME chain
    no_data,       // the name exists but has no such record, or its CNAME chain leads nowhere
    unknown,       // no answer in time, or SERVFAIL and the like; this says nothing about the name
  };
  Kind kind = Kind::unknown;
  // The names that the requested one leads to by CNAME records, in order; set even if the end of
  // the chain couldn't be resolved. Lower case, without a dot at the end.
  std::vector<std::string> chain;
  std::vector<std::string> values;  // addresses as text; a TXT record's strings joined together
  std::string problem;              // why nothing was found, for people
};

struct Options {
  // `address`, `address:port` or `[address]:port`. If empty, the system's servers are used
  // (/etc/resolv.conf).
  std::vector<std::string> servers;
  // How long to wait before a question is repeated. A resolver that has to start at the root takes
  // a second or two.
  std::chrono::milliseconds patience{2'000};
  int tries = 2;  // how often each server is asked
  // The limit for one look-up with everything that it needs: CNAME chains, retries, TCP.
  std::chrono::milliseconds deadline{6'000};
};

// Useful chains are never longer, and resolvers give up at about this length too.
inline constexpr size_t max_chain = 16;

// Looks up names. A look-up blocks until its deadline at most, so use threads that have nothing
// else to do. Thread-safe.
class Resolver {
 public:
  // Throws std::invalid_argument if a server isn't an address.
  explicit Resolver(Options options = {});

  // Follows CNAME records, and asks again if a server sends a CNAME record without what it leads
  // to. Unsolicited answers are ignored (RFC 5452, section 9), truncated ones are requested again
  // over TCP. Never throws, except for lack of memory.
  Answer look_up(const std::string& name, Type type) const;

  // From now on every look-up, including those that are running, ends within a tenth of a second
  // with the kind `unknown`.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  const Options options_;
  const std::string servers_;  // in the form that c-ares takes
  std::atomic<bool> stopped_ = false;
};

}  // namespace berth::dns
