#pragma once

#include <filesystem>
#include <string>

#include "controller/transport/http.h"

namespace berth::api::console {

// Serves the client `berth` to everybody: /install.sh, a script that fetches the client for the
// caller's machine, checks it and puts it into place, and /download/NAME, the archives that
// scripts/client.sh makes, with their SHA-256. Thread-safe.
class ClientFiles {
 public:
  // `folder` has the archives; if it is empty, there is no client here, and the answers say so.
  // `base_url` is where the script fetches them from.
  ClientFiles(std::filesystem::path folder, std::string base_url);
  // Answers the request and returns true if it is for one of these addresses; otherwise returns
  // false.
  bool handle(const Request& request, Response& response) const;

 private:
  std::filesystem::path folder_;
  std::string base_url_;
};

}  // namespace berth::api::console
