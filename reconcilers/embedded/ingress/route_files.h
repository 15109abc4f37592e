#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace berth::embedded {

// What Caddy reads at each request to find out where it goes, so that no change of a route needs a
// new configuration, which would cut off WebSockets and kept connections:
//
//   up/HOST/ADDRESS   the host is known, and its requests go to ADDRESS (127.0.0.1:34567); without
//                     a file in it, nothing answers for the host
//   spread/HOST/N/first/ADDRESS
//   spread/HOST/N/second/ADDRESS
//                     if several containers answer for the host: a request gets a random N, one of
//                     the 16 hexadecimal digits, and goes to one of the two addresses there, or to
//                     the other one if that doesn't answer. Each container is in as many of these
//                     places as the others, as far as 16 can be divided.
//   secure/HOST       plain http is sent on to https
//
// The files are empty. They outlive berthd, as Caddy does. Not thread-safe.
class RouteFiles {
 public:
  // Makes the directories, for the owner alone. Throws std::filesystem::filesystem_error.
  explicit RouteFiles(std::filesystem::path directory);

  std::filesystem::path upstreams() const { return directory_ / "up"; }
  std::filesystem::path spread() const { return directory_ / "spread"; }
  std::filesystem::path secured() const { return directory_ / "secure"; }

  bool has(const std::string& host) const;
  // The hosts that have a directory.
  std::set<std::string> hosts() const;
  // From now on, requests for the host go to these addresses; without one, nowhere. A request that
  // is being routed meanwhile finds the old or the new addresses. Throws std::system_error.
  void set(const std::string& host, const std::vector<std::string>& addresses);
  void set_secure(const std::string& host, bool secure);
  void remove(const std::string& host);

 private:
  std::filesystem::path directory_;
};

}  // namespace berth::embedded
