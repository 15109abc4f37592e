#include "cli/config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/failure.h"
#include "cli/files.h"
#include "cli/output.h"
#include "controller/base/url.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

constexpr const char* keys = "server, output, app, browser";

fs::path base_dir(const char* name, const char* below_home) {
  if (const auto value = variable(name); value && fs::path(*value).is_absolute()) return *value;
  const auto home = variable("HOME");
  if (!home)
    throw Failure(Exit::usage, std::string("neither ") + name + " nor HOME is set",
                  "Set one of them to an absolute path.");
  return fs::path(*home) / below_home;
}

json read(const fs::path& file) {
  const auto text = read_file(file);
  if (!text || text->find_first_not_of(" \t\r\n") == std::string::npos) return json::object();
  json content;
  try {
    content = parse_yaml(*text, file.string());
  } catch (const std::runtime_error& error) {
    throw Failure(Exit::usage, error.what());
  }
  if (content.is_null()) return json::object();
  if (!content.is_object())
    throw Failure(Exit::usage, file.string() + " must contain keys and values",
                  std::string("The keys are ") + keys + ".");
  return content;
}

Config decode(const json& content, const fs::path& file) {
  Config config;
  for (const auto& entry : content.items()) {
    const std::string& key = entry.key();
    const json& value = entry.value();
    const auto wrong = [&](const char* wanted) {
      return Failure(Exit::usage, file.string() + ": " + key + " must be " + wanted);
    };
    if (key == "browser") {
      if (!value.is_boolean()) throw wrong("true or false");
      config.browser = value;
    } else if (key == "server" || key == "output" || key == "app") {
      if (!value.is_string()) throw wrong("a text");
      (key == "server" ? config.server : key == "output" ? config.output : config.app) = value;
    } else {
      throw Failure(Exit::usage, file.string() + ": there is no key " + key,
                    std::string("The keys are ") + keys + ".");
    }
  }
  if (config.output) parse_format(*config.output);
  return config;
}

}  // namespace

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

Places places() {
  return {.config_file = base_dir("XDG_CONFIG_HOME", ".config") / "berth" / "config.yaml",
          .state_dir = base_dir("XDG_STATE_HOME", ".local/state") / "berth"};
}

Config load_config(const fs::path& file) { return decode(read(file), file); }

void set_config(const fs::path& file, const std::string& key, const std::string& value) {
  json content = read(file);
  if (value.empty())
    content.erase(key);
  else
    content[key] = key == "browser" && (value == "true" || value == "false") ? json(value == "true")
                                                                             : json(value);
  const Config config = decode(content, file);
  if (config.server) checked_server(*config.server, true);
  write_file(file, to_yaml(content), Access::everybody);
}

bool stays_on_machine(std::string_view url) {
  const auto read = parse_url(url);
  return read && is_loopback(read->host);
}

std::string checked_server(std::string server, bool allow_http) {
  while (server.ends_with('/')) server.pop_back();
  const auto url = parse_url(server);
  if (!url || !url->is_web() || url->has_user() ||
      url->rest.find_first_of("?#") != std::string::npos)
    throw Failure(Exit::usage, "\"" + server + "\" isn't the address of a server",
                  "An address looks like https://berth.example.org.");
  if (url->scheme == "http" && !allow_http && !is_loopback(url->host))
    throw Failure(Exit::usage, server + " would receive passwords and tokens unencrypted",
                  "Use https, or set BERTH_ALLOW_HTTP=1 on a network that you trust.");
  return server;
}

}  // namespace berth::cli
