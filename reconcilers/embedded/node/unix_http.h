#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "controller/base/descriptor.h"

// HTTP/1.1 over a unix socket, which podman's service and Caddy's administration speak. This is the
// only part of berth's programs that uses cpp-httplib: it reads answers of programs that berthd
// itself has started.
namespace berth::embedded {

class UnixHttpError : public std::runtime_error {
 public:
  enum class Kind {
    unreachable,  // nobody listens, or the connection broke off
    timed_out,    // nothing arrived for UnixCall::silence
    too_large,    // the answer is larger than UnixCall::most_bytes
    cancelled     // a receiver or a source wanted no more, or cancel() was called
  };
  UnixHttpError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// Ends calls from another thread. One object may serve several calls at the same time; after
// cancel() all later ones end at once. Thread-safe.
class UnixCancel {
 public:
  UnixCancel();
  ~UnixCancel();
  UnixCancel(const UnixCancel&) = delete;
  UnixCancel& operator=(const UnixCancel&) = delete;
  void cancel();
  bool cancelled() const;

  struct Calls;

 private:
  friend class UnixHttp;
  std::shared_ptr<Calls> calls_;
};

struct UnixCall {
  std::string method = "GET";
  std::string target{};  // the path and the query, percent-encoded
  std::map<std::string, std::string> headers{};
  std::string body{};
  std::string content_type = "application/json";
  // If it is set, the body is sent in parts, each of which is what a call returns; an empty one is
  // the end. An exception cancels the call.
  std::function<std::string()> source{};
  // If it is set, the body of an answer 2xx is handed over as it arrives, and not collected. If it
  // returns false, the call is cancelled.
  std::function<bool(std::string_view)> receive{};
  std::chrono::milliseconds silence{30'000};       // how long nothing may arrive, or be taken
  std::size_t most_bytes = std::size_t{16} << 20;  // of a collected body
  UnixCancel* cancel = nullptr;
};

struct UnixAnswer {
  int status = 0;
  std::string body;
  bool good() const { return status >= 200 && status < 300; }
};

// Each call has a connection of its own, so that any number of threads may call at the same time.
class UnixHttp {
 public:
  // A socket's path has at most 107 bytes (unix(7)).
  static constexpr std::size_t longest_path = 107;

  // `host` is sent as the field Host. Throws std::invalid_argument if the path is too long.
  explicit UnixHttp(std::string socket_path, std::string host = "localhost");

  // Returns the answer whatever its status is. Throws UnixHttpError.
  UnixAnswer call(const UnixCall& call) const;
  // Sends a request without a source, and returns the connection if the answer to it is 101
  // (RFC 9110, section 7.8): from then on both sides send what they like. Otherwise returns an
  // invalid descriptor, and sets `answer`. UnixCall::silence is for the whole of it. Throws
  // UnixHttpError.
  Descriptor upgrade(const UnixCall& call, UnixAnswer& answer) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string host_;
};

}  // namespace berth::embedded
