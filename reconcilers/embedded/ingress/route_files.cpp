#include "reconcilers/embedded/ingress/route_files.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "controller/base/descriptor.h"

namespace berth::embedded {
namespace {

namespace fs = std::filesystem;

void make_file(const fs::path& path) {
  constexpr mode_t for_the_owner = 0600;
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, for_the_owner)};
  if (!file.valid())
    throw std::system_error(errno, std::generic_category(), "can't write " + path.string());
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing))
    names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

RouteFiles::RouteFiles(fs::path directory) : directory_(std::move(directory)) {
  for (const fs::path& part : {directory_, upstreams(), secured()}) {
    fs::create_directories(part);
    fs::permissions(part, fs::perms::owner_all);
  }
}

bool RouteFiles::has(const std::string& host) const { return fs::exists(upstreams() / host); }

std::set<std::string> RouteFiles::hosts() const { return names_in(upstreams()); }

// The new file is made before the old one is removed. Caddy looks twice (caddy_config.cpp), so that
// it also finds the new one if it has read the directory before, and the old one is gone since.
void RouteFiles::set(const std::string& host, const std::string& address) {
  const fs::path directory = upstreams() / host;
  fs::create_directory(directory);
  if (!address.empty()) make_file(directory / address);
  for (const std::string& other : names_in(directory))
    if (other != address) fs::remove(directory / other);
}

void RouteFiles::set_secure(const std::string& host, bool secure) {
  if (secure)
    make_file(secured() / host);
  else
    fs::remove(secured() / host);
}

void RouteFiles::remove(const std::string& host) {
  fs::remove(secured() / host);
  fs::remove_all(upstreams() / host);
}

}  // namespace berth::embedded
