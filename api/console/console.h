#pragma once

#include <string>
#include <string_view>

#include "api/gate/browser_session.h"
#include "controller/transport/http.h"

namespace berth::api::console {

// Serves the console. Thread-safe.
class Console {
 public:
  explicit Console(const std::string& base_url) : cookies_(base_url) {}
  // Answers the request and returns true if it is for /console or something below it; otherwise
  // returns false. A browser without a login is sent to the login page.
  bool handle(const Request& request, Response& response) const;

 private:
  Cookies cookies_;
};

}  // namespace berth::api::console
