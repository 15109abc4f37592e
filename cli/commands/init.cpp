// The command init, which writes a berth.yaml.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/deploy_plan.h"
#include "cli/files.h"
#include "controller/base/ascii.h"
#include "controller/base/container_spec.h"

namespace berth::cli {
namespace {

struct InitFlags {
  std::string image;
  std::string name;
  std::string tier = "free";
  int port = deployments::default_port;
  std::string file = "berth.yaml";
  bool force = false;
};

constexpr const char* official_images = "docker.io/library/";

// Returns the image with a registry. berth requires one, whereas `docker run` takes it for Docker
// Hub if it is missing.
std::string with_registry(const std::string& image) {
  const size_t slash = image.find('/');
  if (slash == std::string::npos) return official_images + image;
  const std::string host = image.substr(0, slash);
  const bool is_host = host.find_first_of(".:") != std::string::npos || host == "localhost";
  return is_host ? image : "docker.io/" + image;
}

// The last part of the image's name, without tag and digest, as far as it can be a deployment's
// name.
std::string name_from(const std::string& image) {
  std::string name;
  for (const char c : image.substr(image.rfind('/') + 1)) {
    if (c == ':' || c == '@' || name.size() == longest_name) break;
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0;
    name += fits ? lower_case(c) : '-';
  }
  while (name.starts_with('-')) name.erase(0, 1);
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::string text_for(const InitFlags& flags, const std::string& name, const std::string& image) {
  const std::string entry = to_yaml({{"name", name}}) + to_yaml({{"image", image}}) +
                            to_yaml({{"tier", flags.tier}}) + to_yaml({{"port", flags.port}});
  return "# What `berth deploy up` makes of this: one deployment. Several stand in a list under\n"
         "# `deployments`. What is left out stays as it is.\n" +
         entry +
         "# health_path: /healthz          # answers 200 to 399 when the container is ready\n"
         "# custom_domain: www.example.com # a domain of your own, if the tier allows it\n"
         "# env_vars:                      # the complete set of its variables\n"
         "#   LOG_LEVEL: info\n"
         "#   PASSWORD: \"${PASSWORD}\"      # from the environment of `berth`\n";
}

void init(Run& run, const InitFlags& flags) {
  const std::string image = with_registry(flags.image);
  const std::string name = flags.name.empty() ? name_from(image) : flags.name;
  if (!is_deployment_name(name))
    throw Failure(Exit::usage,
                  "\"" + name + "\" can't be the name of a deployment: it has to be " + name_rule,
                  "--name gives another one.");
  const std::string text = text_for(flags, name, image);
  if (flags.file == "-") {
    std::cout << text;
    return;
  }
  if (!flags.force && read_file(flags.file))
    throw Failure(Exit::conflict, flags.file + " exists already",
                  "--force overwrites it, --file names another one.");
  write_file(std::filesystem::absolute(flags.file), text, Access::everybody);
  run.out().done({{"file", flags.file}, {"name", name}, {"image", image}},
                 "Wrote " + flags.file + " for " + name + ". Next: `berth deploy up --wait" +
                     (flags.file == "berth.yaml" ? "" : " --file " + flags.file) + "`.");
}

}  // namespace

void add_init_command(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<InitFlags>();
  CLI::App* command = add_command(root, "init", "Write a berth.yaml for an image",
                                  "berth init docker.io/library/hello:1 --port 8080",
                                  [&run, flags] { init(run, *flags); });
  command->add_option("IMAGE", flags->image, "Image, such as docker.io/library/hello:1")
      ->required();
  command->add_option("--name", flags->name, "Name of the deployment; from the image if left out");
  command->add_option("--tier,-t", flags->tier, "Tier, by its slug")->capture_default_str();
  command->add_option("--port", flags->port, "Port on which the container listens")
      ->capture_default_str()
      ->check(CLI::Range(1, deployments::max_port));
  command->add_option("--file,-f", flags->file, "File to write; - prints it")
      ->capture_default_str();
  command->add_flag("--force", flags->force, "Overwrite a file that exists");
}

}  // namespace berth::cli
