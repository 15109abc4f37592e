#include <sstream>
#include <utility>

#include "reconcilers/embedded/ingress/caddy.h"
#include "reconcilers/embedded/node/finding.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded {
namespace {

constexpr std::pair least_caddy{2, 6};

}  // namespace

void check_caddy(const std::string& program) {
  const CommandResult version = run({.args = {program, "version"}, .env = plain_environment()});
  if (version.status == CommandResult::not_started)
    throw Unusable(
        {"Caddy, which serves apps to visitors, isn't installed.", "apt-get install caddy"});
  // `v2.6.2 h1:…`, or without the v where a distribution has built it.
  std::istringstream words(version.output);
  int major = 0, minor = 0;
  char separator = 0;
  if (words.peek() == 'v') words.get();
  words >> major >> separator >> minor;
  if (!version.good() || !words)
    throw Unusable({"`caddy version` prints no version.", "apt-get install --reinstall caddy"});
  if (std::pair(major, minor) < least_caddy)
    throw Unusable({"Caddy " + std::to_string(major) + "." + std::to_string(minor) +
                        " is too old; berth needs " + std::to_string(least_caddy.first) + "." +
                        std::to_string(least_caddy.second) + " or newer.",
                    "Debian 12 and Ubuntu 24.04 have a newer one: apt-get install caddy"});
}

}  // namespace berth::embedded
