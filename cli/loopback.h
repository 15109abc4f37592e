#pragma once

#include <chrono>
#include <map>
#include <string>

// The listener that the browser is redirected to (RFC 8252, section 7.3).
namespace berth::cli {

// Listens on a free port of 127.0.0.1 from its construction on, for one login.
class Loopback {
 public:
  Loopback();  // throws Failure `failed`
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  std::string redirect_uri() const;  // http://127.0.0.1:PORT/callback
  // Waits for the first request for /callback whose `state` matches and returns its parameters. All
  // other requests get an error page. Throws Failure `timed_out`.
  std::map<std::string, std::string> wait(const std::string& state, std::chrono::seconds time);

 private:
  int fd_ = -1;
  int port_ = 0;
};

// Passes the address to $BROWSER or xdg-open, without waiting for it. Returns whether one of them
// could be started.
bool open_in_browser(const std::string& url);

}  // namespace berth::cli
