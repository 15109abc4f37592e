#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/run.h"

// `berth up FOLDER`: builds the image that is then deployed.
namespace berth::cli {

inline constexpr const char* builds_path = "/api/deploy/builds";
std::string build_path(const std::string& id);

struct SourceFlags {
  std::string folder;  // empty: there is no source
  std::string containerfile;
  std::string name;
  std::string tier;
  int port = 0;  // 0: the one that the Containerfile exposes, or the default
  bool local = false;
  std::string push_to;  // a repository, for a local build
  std::string program;  // podman, docker or buildah, for a local build
};
void add_source_flags(CLI::App& command, SourceFlags& flags, CLI::Option* folder);

// Returns the order for the folder's deployment, without its image: from the folder's berth.yaml,
// or `file` if that is another name, and from the flags. Throws Failure `usage`, also if the folder
// has no Containerfile.
json order_for(Run& run, const SourceFlags& flags, const std::string& file);
// The deployment with this name, or null.
json live_deployment(Api& api, const std::string& name);

// Packs the folder and prints what would be sent.
void show_source(Run& run, const SourceFlags& flags, const json& order);
// Sends the folder to the server, follows the build, and returns the image. Ctrl-C cancels the
// build. Throws Failure, with what the server says of a build that failed.
std::string build_on_server(Run& run, const SourceFlags& flags, const json& order,
                            const json& live);
// Builds with a program of this machine, pushes the image, and returns it with its digest. Throws
// Failure `failed`, or `usage` if there is no such program or nowhere to push to.
std::string build_locally(const SourceFlags& flags, const json& order);

// Follows the log of a build until it is over, and returns the build. Lines go to stderr, or to
// stdout if `to_output`.
enum class LogTo { progress, output };
json follow_build(Api& api, const std::string& id, LogTo where);

}  // namespace berth::cli
