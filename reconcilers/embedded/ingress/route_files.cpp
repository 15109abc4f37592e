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

// Makes the directory have this file and no other; with an empty name, none. The new file is made
// before the old one is removed. Caddy looks twice (caddy_config.cpp), so that it also finds the
// new one if it has read the directory before, and the old one is gone since.
void put_only(const fs::path& directory, const std::string& name) {
  fs::create_directory(directory);
  if (!name.empty()) make_file(directory / name);
  for (const std::string& other : names_in(directory))
    if (other != name) fs::remove(directory / other);
}

// The first character of a request's UUID, which Caddy makes.
constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

RouteFiles::RouteFiles(fs::path directory) : directory_(std::move(directory)) {
  for (const fs::path& part : {directory_, upstreams(), spread(), secured()}) {
    fs::create_directories(part);
    fs::permissions(part, fs::perms::owner_all);
  }
}

bool RouteFiles::has(const std::string& host) const { return fs::exists(upstreams() / host); }

std::set<std::string> RouteFiles::hosts() const { return names_in(upstreams()); }

void RouteFiles::set(const std::string& host, const std::vector<std::string>& addresses) {
  const fs::path places = spread() / host;
  if (addresses.size() < 2) {
    // What is left in `up` answers before the places are gone.
    put_only(upstreams() / host, addresses.empty() ? "" : addresses.front());
    fs::remove_all(places);
    return;
  }
  fs::create_directory(places);
  for (size_t i = 0; i < digits.size(); ++i) {
    const fs::path place = places / std::string(1, digits[i]);
    fs::create_directory(place);
    put_only(place / "first", addresses[i % addresses.size()]);
    put_only(place / "second", addresses[(i + 1) % addresses.size()]);
  }
  put_only(upstreams() / host, addresses.front());
}

void RouteFiles::set_secure(const std::string& host, bool secure) {
  if (secure)
    make_file(secured() / host);
  else
    fs::remove(secured() / host);
}

void RouteFiles::remove(const std::string& host) {
  fs::remove(secured() / host);
  fs::remove_all(spread() / host);
  fs::remove_all(upstreams() / host);
}

}  // namespace berth::embedded
