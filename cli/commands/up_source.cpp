// Building an image from a folder: on the server, or by a program of this machine.
#include "cli/commands/up_source.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "cli/cancel_on_signal.h"
#include "cli/commands/commands.h"
#include "cli/config.h"
#include "cli/deploy_plan.h"
#include "cli/event_stream.h"
#include "cli/files.h"
#include "cli/procfile.h"
#include "cli/source_folder.h"
#include "controller/base/ascii.h"
#include "controller/base/container_spec.h"
#include "controller/base/text.h"
#include "controller/base/yaml.h"

extern char** environ;

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_file = "berth.yaml";
constexpr const char* default_tier = "free";
constexpr std::chrono::minutes longest_upload{10};

std::string megabytes(std::uint64_t bytes) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << double(bytes) / 1e6 << " MB";
  return text.str();
}

// The folder's name, as far as it can be a deployment's.
std::string name_of(const fs::path& folder) {
  std::string name;
  for (const char c : fs::canonical(folder).filename().string()) {
    if (name.size() == longest_name) break;
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (fits || !name.ends_with('-')) name += fits ? lower_case(c) : '-';
  }
  while (name.starts_with('-')) name.erase(0, 1);
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// The first port that the instructions expose, if there is one.
std::optional<int> exposed_port(const std::string& instructions) {
  std::istringstream lines(instructions);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, port;
    words >> name >> port;
    if (lower_case(name) != "expose") continue;
    if (const auto number = parse_number<int>(port.substr(0, port.find('/')));
        number && *number >= 1 && *number <= deployments::max_port)
      return number;
  }
  return std::nullopt;
}

fs::path needed_containerfile(const SourceFlags& flags) {
  const auto file = containerfile_of(flags.folder, flags.containerfile);
  if (file) return *file;
  throw Failure(Exit::usage,
                "there is no Containerfile or Dockerfile in " +
                    fs::canonical(flags.folder).string() + ", which says how the image is built",
                "`berth init --template node`, `python` or `static` writes one to begin with; "
                "`--containerfile` names one elsewhere.");
}

// What the file says, if there is one: a deployment of a berth.yaml, in which the image is missing.
json order_in_file(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return json::object();
  json content;
  try {
    content = parse_yaml(*text, file.string());
  } catch (const std::runtime_error& error) {
    throw Failure(Exit::usage, error.what());
  }
  const bool has_image = content.is_object() && content.contains("image");
  const std::vector<json> orders =
      parse_orders(has_image ? *text : *text + "\nimage: localhost/source\n", file.string());
  if (orders.size() != 1)
    throw Failure(Exit::usage, file.string() + " has several deployments, and a folder is one",
                  "Name another file with --file, or none of theirs.");
  json order = orders.front();
  if (!has_image) order.erase("image");
  return order;
}

// What the folder's Procfile says stands for what the berth.yaml doesn't say.
void add_procfile(json& order, const fs::path& folder) {
  const fs::path file = folder / "Procfile";
  const auto text = read_file(file);
  if (!text || order.contains("processes") || order.contains("command")) return;
  const json said = order_in_procfile(*text, file.string());
  for (const auto& [field, value] : said.items())
    if (!order.contains(field)) order[field] = value;
}

PackedSource packed(const SourceFlags& flags) {
  PackedSource source = pack(flags.folder, needed_containerfile(flags));
  for (const std::string& warning : source.warnings) say("Warning: " + warning);
  return source;
}

void check_size(const PackedSource& source, std::uint64_t most) {
  if (source.archive.size() <= most) return;
  Failure failure(Exit::usage,
                  "the source has " + megabytes(source.archive.size()) +
                      " when it is packed, and the server takes " + megabytes(most),
                  "Name what the image doesn't need in a .containerignore; the largest files are:");
  for (const auto& [bytes, path] : source.largest)
    failure.details.push_back(path + ", " + megabytes(bytes));
  throw failure;
}

// What the server allows. Throws if it builds nothing.
json limits_of(Api& api) {
  json limits;
  try {
    limits = api.get(std::string(builds_path) + "?page_size=1").at("limits");
  } catch (const Failure& failure) {
    if (failure.exit != Exit::not_found || !failure.server_code.empty()) throw;
  }
  if (limits.is_object()) return limits;
  throw Failure(Exit::invalid, "this server builds no images",
                "`berth up . --local --push-to REPOSITORY` builds with the podman, docker or "
                "buildah of this machine, pushes the image, and deploys it.",
                "builds_unavailable");
}

// Runs a program with stdout going to stderr, so that only the result is on stdout.
void run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    throw Failure(Exit::failed, words[0] + " can't be started: " + std::strerror(failed));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Failure(Exit::failed, words[0] + " " + words[1] + " failed");
}

// What a program prints on stdout, without line ends.
std::string output_of(const std::string& command) {
  FILE* out = ::popen(command.c_str(), "r");
  if (out == nullptr) return "";
  std::string text(512, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  ::pclose(out);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_in_path(const std::string& program) {
  std::istringstream folders(variable("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

std::string local_program(const SourceFlags& flags) {
  if (!flags.program.empty()) {
    if (is_in_path(flags.program)) return flags.program;
    throw Failure(Exit::usage, flags.program + " isn't installed here");
  }
  for (const char* program : {"podman", "docker", "buildah"})
    if (is_in_path(program)) return program;
  throw Failure(Exit::usage, "none of podman, docker and buildah is installed here",
                "On Debian: `apt install podman`.");
}

std::string with_single_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

bool is_digest(std::string_view text) {
  constexpr std::string_view start = "sha256:";
  constexpr size_t digits = 64;
  return text.starts_with(start) && text.size() == start.size() + digits &&
         text.substr(start.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The repository of an image: without tag and digest.
std::string repository_of(const std::string& image) {
  const std::string named = image.substr(0, image.find('@'));
  const size_t slash = named.rfind('/');
  return named.substr(0, named.find(':', slash == std::string::npos ? 0 : slash));
}

}  // namespace

std::string build_path(const std::string& id) { return std::string(builds_path) + "/" + id; }

void add_source_flags(CLI::App& command, SourceFlags& flags, CLI::Option* folder) {
  command
      .add_option(
          "--containerfile", flags.containerfile,
          "File with the instructions, if it isn't the folder's Containerfile or Dockerfile")
      ->needs(folder);
  command
      .add_option("--name", flags.name,
                  "Name of the folder's deployment; from its berth.yaml or the folder if left out")
      ->needs(folder);
  command
      .add_option("--tier,-t", flags.tier,
                  "Tier of the folder's deployment, by its slug; free for a new one")
      ->needs(folder);
  command
      .add_option("--port", flags.port,
                  "Port on which the container listens; the one that the Containerfile exposes if "
                  "left out")
      ->needs(folder)
      ->check(CLI::Range(1, deployments::max_port));
  CLI::Option* local = command
                           .add_flag("--local", flags.local,
                                     "Build with the podman, docker or buildah of this machine, "
                                     "and push the image to a registry")
                           ->needs(folder);
  command
      .add_option(
          "--push-to", flags.push_to,
          "Repository to push to, such as ghcr.io/acme/shop; from the berth.yaml's image if "
          "left out")
      ->needs(local);
  command.add_option("--with", flags.program, "Program that builds")
      ->needs(local)
      ->check(CLI::IsMember({"podman", "docker", "buildah"}));
}

json order_for(Run& run, const SourceFlags& flags, const std::string& file) {
  const fs::path instructions = needed_containerfile(flags);
  json order = order_in_file(file == default_file ? fs::path(flags.folder) / file : fs::path(file));
  if (!flags.name.empty()) order["name"] = flags.name;
  if (!order.contains("name")) order["name"] = name_of(flags.folder);
  if (!is_deployment_name(order.at("name").get<std::string>()))
    throw Failure(Exit::usage,
                  "\"" + order.at("name").get<std::string>() +
                      "\" can't be the name of a deployment: it has to be " + name_rule,
                  "--name gives another one.");
  if (!flags.tier.empty()) order["tier"] = flags.tier;
  const bool is_new = live_deployment(run.api(), order.at("name")).is_null();
  if (!order.contains("tier") && is_new) order["tier"] = default_tier;
  add_procfile(order, flags.folder);
  if (flags.port != 0) order["port"] = flags.port;
  if (!order.contains("port") && is_new)
    order["port"] =
        exposed_port(read_file(instructions).value_or("")).value_or(deployments::default_port);
  return order;
}

json live_deployment(Api& api, const std::string& name) {
  for (const json& row : api.once("/api/deploy/apps", "deployments").at("deployments"))
    if (row.at("subdomain") == name) return row;
  return nullptr;
}

void show_source(Run& run, const SourceFlags& flags, const json& order) {
  const PackedSource source = packed(flags);
  const std::string name = order.at("name");
  run.out().print({{"name", name},
                   {"source_bytes", source.archive.size()},
                   {"files", source.files},
                   {"order", order}},
                  [&] {
                    return name + ": " + std::to_string(source.files) + " files, " +
                           megabytes(source.archive.size()) +
                           " when packed, would be sent, built and deployed\n";
                  });
}

json follow_build(Api& api, const std::string& id, LogTo where) {
  json last;
  follow(api, build_path(id) + "/logs?follow=true", [&](const Event& event) {
    if (event.name == "status") {
      last = json::parse(event.data, nullptr, false);
      const std::string status = cell(last, "status");
      if (status == "queued") say("The build is waiting for others.");
      return status == "queued" || status == "building";
    }
    (where == LogTo::output ? std::cout : std::cerr) << printable(event.data) << std::endl;
    return true;
  });
  // The stream may have ended with the token, or with the server.
  if (!last.is_object() || last.value("status", "building") == "building")
    last = api.get(build_path(id)).at("build");
  return last;
}

std::string build_on_server(Run& run, const SourceFlags& flags, const json& order,
                            const json& live) {
  Api& api = run.api();
  const json limits = limits_of(api);
  const PackedSource source = packed(flags);
  check_size(source, limits.at("source_bytes"));
  say("Sending " + std::to_string(source.files) + " files, " + megabytes(source.archive.size()) +
      ".");
  const std::string path =
      live.is_null() ? std::string(builds_path) + "?" +
                           encoded({{"name", order.at("name")}, {"tier", order.at("tier")}})
                     : "/api/deploy/apps/" + live.at("id").get<std::string>() + "/builds";
  CancelOnSignal cancel(run, "build");
  const json answer = api.call({.method = "POST",
                                .path = path,
                                .archive = source.archive,
                                .time = longest_upload,
                                .patient = false});
  const std::string id = answer.at("build").at("id");
  cancel.set_path(build_path(id));
  const json build = follow_build(api, id, LogTo::progress);
  const std::string status = cell(build, "status");
  if (status == "succeeded") {
    say("Built " + cell(build, "image"));
    return build.at("image");
  }
  if (status == "cancelled") throw Failure(Exit::failed, "the build was cancelled");
  throw Failure(Exit::failed, "the build failed: " + cell(build, "message"),
                "`berth builds logs " + id + "` shows its log again.", cell(build, "reason"));
}

std::string build_locally(const SourceFlags& flags, const json& order) {
  const std::string program = local_program(flags);
  const std::string in_file = order.value("image", "");
  const std::string repository = !flags.push_to.empty() ? flags.push_to : repository_of(in_file);
  if (repository.empty())
    throw Failure(Exit::usage, "no repository was named",
                  "Name a repository with --push-to, such as ghcr.io/acme/" +
                      order.at("name").get<std::string>() + ".");
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::string image = repository + ":berth-" + std::to_string(now.count());
  const std::string file = needed_containerfile(flags).string();
  run_program({program, "build", "--file", file, "--tag", image, flags.folder});
  run_program({program, "push", image});
  // Each program knows the digest of what it has pushed in another way.
  const std::string quoted = with_single_quotes(image);
  const std::string digest =
      program == "docker"
          ? output_of("docker image inspect --format '{{index .RepoDigests 0}}' " + quoted)
          : output_of(program + " inspect " + (program == "buildah" ? "--type image " : "") +
                      "--format '" +
                      (program == "buildah" ? "{{.FromImageDigest}}" : "{{.Digest}}") + "' " +
                      quoted);
  const std::string plain =
      digest.substr(digest.find('@') == std::string::npos ? 0 : digest.find('@') + 1);
  say("Pushed " + image);
  // A registry may store it in another form than this machine; then its tag, which nobody else
  // uses, says which it is.
  return program == "docker" && is_digest(plain) ? image + "@" + plain : image;
}

}  // namespace berth::cli
