#include "cli/config.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cli/files.h"
#include "cli/output.h"
#include "controller/base/url.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

constexpr const char* keys = "server, output, app, browser";

// Returns the path `below` in the folder that the environment variable `name` gives, or in the
// folder `below_home` of the home directory. Returns an empty path if neither variable is set.
fs::path place(const char* name, const char* below_home, const char* below) {
  if (const auto value = variable(name); value && fs::path(*value).is_absolute())
    return fs::path(*value) / below;
  const auto home = variable("HOME");
  return home ? fs::path(*home) / below_home / below : fs::path();
}

json read(const fs::path& file) {
  const auto text = file.empty() ? std::nullopt : read_file(file);
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
  return {.config_file = place("XDG_CONFIG_HOME", ".config", "berth/config.yaml"),
          .state_dir = place("XDG_STATE_HOME", ".local/state", "berth")};
}

Failure no_place(const std::string& what, const char* variable) {
  return Failure(Exit::usage, what + " can't be stored: neither " + variable + " nor HOME is set",
                 "Set one of them to an absolute path.");
}

std::optional<std::string> one_line(const char* name) {
  const auto value = variable(name);
  if (!value) return std::nullopt;
  constexpr const char* blanks = " \t\r\n";
  const size_t start = value->find_first_not_of(blanks);
  if (start == std::string::npos) return std::nullopt;
  std::string text = value->substr(start, value->find_last_not_of(blanks) - start + 1);
  const bool has_control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (has_control)
    throw Failure(Exit::usage, std::string(name) + " holds more than one line of text",
                  "It has to hold nothing but the value; a line break at the end doesn't matter.");
  return text;
}

Config load_config(const fs::path& file) { return decode(read(file), file); }

namespace {

// Whether the line of YAML sets this key of the outermost mapping.
bool sets(std::string_view line, const std::string& key) {
  if (!line.starts_with(key)) return false;
  line.remove_prefix(key.size());
  const size_t colon = line.find_first_not_of(" \t");
  return colon != std::string_view::npos && line[colon] == ':';
}

// Returns the comment at the end of a line, with the blanks before it. A # within quotes begins no
// comment, so lines whose value has quotes are taken to have none.
std::string comment_of(const std::string& line) {
  const size_t start =
      line.find_first_of("'\"") == std::string::npos ? line.find(" #") : std::string::npos;
  if (start == std::string::npos) return "";
  return line.substr(line.find_last_not_of(" \t", start) + 1);
}

// The text with the key set to what `content` has for it, and everything else as it is. `was` is
// what the text says. Returns nothing if that can't be done line by line, as in a text in flow
// style.
std::optional<std::string> edited(const std::string& text, const std::string& key,
                                  const json& content, const fs::path& file) {
  std::string result;
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!sets(line, key)) {
      result += line + "\n";
    } else if (content.contains(key)) {
      const std::string entry = to_yaml({{key, content.at(key)}});
      result += entry.substr(0, entry.find('\n')) + comment_of(line) + "\n";
      found = true;
    }
  }
  if (!found && content.contains(key)) result += to_yaml({{key, content.at(key)}});
  try {
    const json read = parse_yaml(result, file.string());
    if ((read.is_null() ? json::object() : read) == content) return result;
  } catch (const std::runtime_error&) {
  }
  return std::nullopt;
}

}  // namespace

void set_config(const fs::path& file, const std::string& key, const std::string& value) {
  if (file.empty()) throw no_place("the default", "XDG_CONFIG_HOME");
  json content = read(file);
  if (value.empty())
    content.erase(key);
  else
    content[key] = key == "browser" && (value == "true" || value == "false") ? json(value == "true")
                                                                             : json(value);
  const Config config = decode(content, file);
  if (config.server) checked_server(*config.server, true);
  const auto text = edited(read_file(file).value_or(""), key, content, file);
  write_file(file, text.value_or(to_yaml(content)), Access::everybody);
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
