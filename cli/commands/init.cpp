// The command init, which writes a berth.yaml, or a Containerfile to begin with.
#include <algorithm>
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
  std::string from_template;
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
  return "# What `berth deploy up` makes of this: one deployment. Several form a list under\n"
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

// What `berth up .` builds, to begin with.
struct Template {
  std::string_view name;
  std::string_view next;  // what has to be there
  std::string_view containerfile;
};
constexpr Template templates[] = {
    {"node", "package.json and server.js",
     R"(# How `berth up .` builds the image of this Node.js program.
FROM docker.io/library/node:22-slim
WORKDIR /app
# The dependencies come first: this layer is used again until one of these files changes.
COPY package*.json ./
RUN if [ -e package-lock.json ]; then npm ci --omit=dev; else npm install --omit=dev; fi
COPY . .
# Containers run without root's rights, as user 1000.
USER 1000
# The program has to listen on all addresses, on the port that the variable PORT names.
EXPOSE 3000
ENV NODE_ENV=production
CMD ["node", "server.js"]
)"},
    {"python", "app.py, and requirements.txt if it needs any",
     R"(# How `berth up .` builds the image of this Python program.
FROM docker.io/library/python:3.13-slim
WORKDIR /app
# The dependencies come first: this layer is used again until requirements.txt changes. A COPY needs
# one file that is there, and without packages there is no requirements.txt.
COPY Containerfile requirements*.txt ./
RUN if [ -e requirements.txt ]; then pip install --no-cache-dir -r requirements.txt; fi
COPY . .
# Containers run without root's rights, as user 1000.
USER 1000
# What the program prints is in the log at once.
ENV PYTHONUNBUFFERED=1
# The program has to listen on all addresses, on the port that the variable PORT names.
EXPOSE 3000
CMD ["python", "app.py"]
)"},
    {"static", "the pages, such as index.html",
     R"(# How `berth up .` builds an image that serves the files of this folder.
FROM docker.io/library/busybox:1.37
COPY . /www
# Containers run without root's rights, as user 1000.
USER 1000
EXPOSE 3000
CMD ["httpd", "-f", "-v", "-p", "3000", "-h", "/www"]
)"},
};

constexpr const char* containerfile_name = "Containerfile";
constexpr const char* ignore_name = ".containerignore";
constexpr const char* ignored =
    "# What isn't sent when the image is built; .git never is.\n"
    "node_modules\n__pycache__\n.venv\n.env\n*.log\n";

void write_new(const std::string& file, const std::string& text, bool force) {
  if (!force && read_file(file))
    throw Failure(Exit::conflict, file + " exists already", "--force overwrites it.");
  write_file(std::filesystem::absolute(file), text, Access::everybody);
}

void init_from_template(Run& run, const InitFlags& flags) {
  const auto* chosen = std::ranges::find(templates, flags.from_template, &Template::name);
  if (flags.file == "-") {
    std::cout << chosen->containerfile;
    return;
  }
  write_new(containerfile_name, std::string(chosen->containerfile), flags.force);
  const bool has_ignore_file = read_file(ignore_name) || read_file(".dockerignore");
  if (!has_ignore_file) write_new(ignore_name, ignored, flags.force);
  run.out().done({{"file", containerfile_name}, {"template", flags.from_template}},
                 "Wrote " + std::string(containerfile_name) + ". It needs " +
                     std::string(chosen->next) + ". Next: `berth up .`.");
}

}  // namespace

void add_init_command(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<InitFlags>();
  CLI::App* command =
      add_command(root, "init", "Write a berth.yaml for an image, or a Containerfile",
                  "berth init docker.io/library/hello:1 --port 8080", [&run, flags] {
                    if (flags->from_template.empty() && flags->image.empty())
                      throw Failure(Exit::usage, "no image was named",
                                    "Name one, or pass --template node, python or "
                                    "static.");
                    if (flags->from_template.empty())
                      init(run, *flags);
                    else
                      init_from_template(run, *flags);
                  });
  CLI::Option* image =
      command->add_option("IMAGE", flags->image, "Image, such as docker.io/library/hello:1");
  command
      ->add_option("--template", flags->from_template,
                   "Write a Containerfile for a folder's source instead, which `berth up .` builds")
      ->check(CLI::IsMember({"node", "python", "static"}))
      ->excludes(image);
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
