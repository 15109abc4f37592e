#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "controller/base/curl.h"
#include "reconcilers/kube/credentials.h"
#include "reconcilers/kube/server_url.h"

namespace berth::kube {

// Thrown by a transfer whose stop was requested.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

struct HttpRequest {
  std::string method;
  std::string path;  // with the query, percent-encoded
  std::string body;
  std::string content_type;  // the body's; empty if there is none
  std::chrono::milliseconds connect_timeout;
  std::chrono::milliseconds timeout;  // for the whole request; 0: no limit
  std::chrono::milliseconds silence;  // the longest time without a byte; 0: no limit
  size_t max_body_bytes;  // the limit of the body, or of the part that a reader hasn't taken yet
};

struct HttpAnswer {
  int status = 0;  // 0: no usable answer, see `failure`
  std::string body;
  std::string failure;
  std::optional<std::chrono::seconds> retry_after;
  bool was_silent = false;  // whether it failed because of HttpRequest::silence
};

// Called with the status as soon as it is known, and again whenever data has arrived; it removes
// from `received` what it uses. It isn't called from within libcurl, so it may throw.
using AnswerReader = std::function<void(int status, std::string& received)>;

// One connection to an API server, which is kept alive between requests. Not thread-safe.
class Connection {
 public:
  Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends a request and waits for the answer. A failure to connect or transfer is reported in the
  // answer. Throws Stopped within a second after a stop is requested, and whatever `reader` throws.
  HttpAnswer run(const Endpoint& endpoint, const Access& access, bool verify_tls,
                 const HttpRequest& request, const AnswerReader& reader,
                 const std::stop_token& stop);

 private:
  struct Transfer;
  void prepare(const Endpoint& endpoint, const HttpRequest& request, Transfer& transfer);
  void prepare_tls(const Access& access, bool verify_tls);
  void prepare_headers(const Endpoint& endpoint, const Access& access, const HttpRequest& request,
                       Transfer& transfer);
  void drive(const HttpRequest& request, const AnswerReader& reader, Transfer& transfer,
             const std::stop_token& stop);
  HttpAnswer answer_of(Transfer& transfer);

  curl::Easy easy_;  // before multi_, because it initialises libcurl
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
};

// Hands out connections: at most max_connections at once, of which max_idle_connections stay open
// while unused. Thread-safe.
class ConnectionPool {
 public:
  // Each watch uses one connection and each worker of a loop another one, about thirty in all.
  static constexpr size_t max_connections = 128;
  static constexpr size_t max_idle_connections = 32;

  struct Return {
    ConnectionPool* pool;
    void operator()(Connection* connection) const { pool->give_back(connection); }
  };
  using Lease = std::unique_ptr<Connection, Return>;

  // Returns a connection; if all are in use, waits for one and returns null after `patience`.
  // Throws Stopped.
  Lease take(std::chrono::milliseconds patience, const std::stop_token& stop);

 private:
  void give_back(Connection* connection);

  std::mutex mutex_;
  std::condition_variable_any free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  size_t in_use_ = 0;
};

}  // namespace berth::kube
