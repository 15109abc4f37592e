#include "reconcilers/embedded/node/podman/program_image.h"

#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/podman/service.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;

// The names of images that are built here are localhost/, an app's id and a name
// (controller/domain/deployments/builds/builds.h), so that none is called like this.
constexpr const char* repository = "localhost/berth/program";
constexpr const char* entry_point = "/program";
constexpr std::chrono::minutes longest_making{2};
constexpr std::size_t digits = 12;

// The file stays readable by this name after an upgrade has replaced it.
std::string program() { return "/proc/" + std::to_string(::getpid()) + "/exe"; }

// The libraries, and what loads them, under the names by which they are looked for.
std::vector<std::string> libraries() {
  std::vector<std::string> found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        const std::string name = info->dlpi_name;
        if (name.starts_with('/')) static_cast<std::vector<std::string>*>(into)->push_back(name);
        return 0;
      },
      &found);
  return found;
}

std::string version() {
  struct stat file {};
  if (::stat(program().c_str(), &file) != 0) throw std::runtime_error("the program isn't there");
  const std::string mark = std::to_string(file.st_dev) + "/" + std::to_string(file.st_ino) + "/" +
                           std::to_string(file.st_size) + "/" +
                           std::to_string(file.st_mtim.tv_sec) + "." +
                           std::to_string(file.st_mtim.tv_nsec);
  return hex(sha256(mark)).substr(0, digits);
}

void run_or_throw(const std::vector<std::string>& args) {
  const CommandResult result =
      run({.args = args, .env = plain_environment(), .patience = longest_making});
  if (!result.good())
    throw std::runtime_error(args.front() +
                             " couldn't make the image of this program: " + shown(result.errors));
}

UnixAnswer ask(const UnixHttp& http, const std::string& method, const std::string& target) {
  UnixCall call;
  call.method = method;
  call.target = libpod_api + target;
  return http.call(call);
}

void remove_others(const UnixHttp& http, const std::string& image) {
  const Json filters = {{"reference", {repository}}};
  const UnixAnswer answer =
      ask(http, "GET", "/images/json?filters=" + percent_encode(filters.dump()));
  if (!answer.good()) return;
  for (const Json& one : Json::parse(answer.body, nullptr, false))
    for (const Json& name : at_path(one, "/RepoTags"))
      if (name.is_string() && name != image &&
          name.get<std::string>().starts_with(std::string(repository) + ":"))
        ask(http, "DELETE", "/images/" + percent_encode(name.get<std::string>()));
}

}  // namespace

std::string program_image(const RuntimeOptions& options) {
  const std::string socket = socket_of(options);
  const UnixHttp http(socket);
  const std::string image = std::string(repository) + ":" + version();
  if (ask(http, "GET", "/images/" + percent_encode(image) + "/json").good()) return image;
  const fs::path archive = fs::path(socket).parent_path() / "program.tar";
  std::vector<std::string> pack = {"tar",
                                   "--create",
                                   "--dereference",
                                   "--absolute-names",
                                   "--mode=a+rX",
                                   "--transform=s," + program() + "," + entry_point + ",",
                                   "--file=" + archive.string(),
                                   program()};
  for (const std::string& library : libraries()) pack.push_back(library);
  const auto forget = [&] {
    std::error_code ignored;
    fs::remove(archive, ignored);
  };
  try {
    run_or_throw(pack);
    run_or_throw({"podman", "--remote", "--url", "unix://" + socket, "import", "--change",
                  "ENTRYPOINT [\"" + std::string(entry_point) + "\"]", archive.string(), image});
  } catch (...) {
    forget();
    throw;
  }
  forget();
  remove_others(http, image);
  return image;
}

}  // namespace berth::embedded::podman
