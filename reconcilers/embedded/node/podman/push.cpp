// Pushing images that were built on this machine to a registry.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/runtime.h"
#include "reconcilers/embedded/node/podman/service.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes longest_push{30};
constexpr std::size_t digest_size = std::string_view("sha256:").size() + 64;

// The file of `podman login`, or of `docker login` (containers-auth.json(5)); empty if there is
// none.
fs::path logins() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): berthd never changes its environment
  if (const char* given = std::getenv("REGISTRY_AUTH_FILE")) return given;
  std::vector<fs::path> places = {"/run/containers/" + std::to_string(::geteuid()) + "/auth.json"};
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* run = std::getenv("XDG_RUNTIME_DIR"))
    places.insert(places.begin(), fs::path(run) / "containers/auth.json");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* home = std::getenv("HOME"))
    places.push_back(fs::path(home) / ".docker/config.json");
  std::error_code ignored;
  for (const fs::path& place : places)
    if (fs::exists(place, ignored)) return place;
  return {};
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

}  // namespace

std::string push(const RuntimeOptions& options, const std::string& image,
                 const std::string& destination) {
  const fs::path directory = fs::canonical(options.directory);
  Service service(directory, look_at_machine(directory));
  service.ensure();
  const std::string registry = destination.substr(0, destination.find('/'));
  const std::string host = registry.substr(0, registry.rfind(':'));
  // The last part of the digest is a tag, because registries may remove what has none.
  constexpr std::size_t tag_size = 12;
  const std::string tag =
      image.size() < tag_size ? "latest" : image.substr(image.size() - tag_size);
  const fs::path digest_file = directory / "tmp" / "pushed-digest";
  Command command{.args = {"podman", "push", "--digestfile", digest_file},
                  .env = service.environment(),
                  .patience = longest_push,
                  .directory = directory};
  if (is_loopback(host)) {
    command.args.emplace_back("--tls-verify=false");
  } else if (const fs::path file = logins(); !file.empty()) {
    command.args.emplace_back("--authfile");
    command.args.push_back(fs::absolute(file));
  }
  command.args.push_back(image);
  command.args.push_back("docker://" + destination + ":" + tag);
  const CommandResult result = run(command);
  if (!result.good())
    throw Unusable(
        {image + " can't be pushed to " + destination + ": " +
             (result.status == CommandResult::timed_out ? "it has taken half an hour"
                                                        : shown(last_line(result.errors))) +
             ".",
         "Log in, if the registry asks for it: podman login " + registry});
  std::string digest;
  std::ifstream(digest_file) >> digest;
  fs::remove(digest_file);
  if (!digest.starts_with("sha256:") || digest.size() != digest_size)
    throw Unusable({"podman doesn't say which digest " + image + " has at " + destination + ".",
                    "Push it by hand, and change the deployment's image."});
  return digest;
}

}  // namespace berth::embedded::podman
