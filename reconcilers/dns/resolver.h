#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

// Questions to the DNS, over c-ares: what berth has to know of a custom domain before a certificate
// is ordered for it.
namespace berth::dns {

enum class Type { a, aaaa, txt };

struct Answer {
  enum class Kind {
    found,
    no_such_name,  // NXDOMAIN, of the name or of the last one of its chain
    no_data,       // the name exists and has no such record, or its chain leads nowhere
    unknown,       // nobody answered in time, or with SERVFAIL and the like: says nothing
  };
  Kind kind = Kind::unknown;
  // The names that the asked one leads to by CNAME records, in their order; also where what they
  // lead to is unknown. Lower case, without a dot at the end.
  std::vector<std::string> chain;
  std::vector<std::string> values;  // addresses as text; a TXT record's strings joined
  std::string problem;              // in words, where nothing was found
};

struct Options {
  // `address`, `address:port` or `[address]:port`; empty: the system's (/etc/resolv.conf).
  std::vector<std::string> servers;
  // Until a question is asked again. A resolver that has to go the whole way down from the root
  // takes a second or two.
  std::chrono::milliseconds patience{2'000};
  int tries = 2;  // for each server
  // Of one look-up with everything that belongs to it: a chain, retries, TCP.
  std::chrono::milliseconds deadline{6'000};
};

// No chain of records that anybody needs is longer; resolvers give up at about as many.
inline constexpr size_t max_chain = 16;

// Blocks up to its deadline: for threads that have nothing else to do. Thread-safe.
class Resolver {
 public:
  // Throws std::invalid_argument for a server that is no address.
  explicit Resolver(Options options = {});

  // Follows CNAME records, by asking again where a server gives one and not what it leads to.
  // Answers that were not asked for are ignored (RFC 5452, section 9), truncated ones are asked for
  // again over TCP. Never throws but for want of memory.
  Answer look_up(const std::string& name, Type type) const;

  // Every look-up, also one that runs, ends within a tenth of a second from now on: unknown.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  const Options options_;
  const std::string servers_;  // as c-ares takes them
  std::atomic<bool> stopped_ = false;
};

}  // namespace berth::dns
