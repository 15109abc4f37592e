#pragma once

#include <chrono>
#include <map>
#include <string>

// The listener that a browser comes back to (RFC 8252, section 7.3).
namespace berth::cli {

// Listens on a free port of 127.0.0.1 from its construction on. For one login.
class Loopback {
 public:
  Loopback();  // throws Failure failed
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  std::string redirect_uri() const;  // http://127.0.0.1:PORT/callback
  // The parameters of the first request for /callback whose `state` is this one; everything else is
  // told that it is wrong here, and waited on. Throws Failure timed_out.
  std::map<std::string, std::string> wait(const std::string& state, std::chrono::seconds time);

 private:
  int fd_ = -1;
  int port_ = 0;
};

// Hands the address to $BROWSER or xdg-open, without waiting for it. Whether one was started.
bool open_in_browser(const std::string& url);

}  // namespace berth::cli
