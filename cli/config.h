#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// What the user prefers, and where things lie (XDG Base Directory Specification 0.8).
namespace berth::cli {

namespace fs = std::filesystem;

struct Places {
  fs::path config_file;  // $XDG_CONFIG_HOME/berth/config.yaml, else ~/.config/…: people edit it
  // $XDG_STATE_HOME/berth, else ~/.local/state/…: credentials. State and not configuration, because
  // the client rewrites them by itself and they are worth nothing on another machine.
  fs::path state_dir;
};

// Relative paths in the variables count as unset, as the XDG specification wants. Throws Failure
// usage where neither they nor HOME are there.
Places places();

constexpr const char* default_server = "http://127.0.0.1:8080";  // of `make run`

// The keys of config.yaml, as they stand in it. Nothing here is secret.
struct Config {
  std::optional<std::string> server;
  std::optional<std::string> output;  // table, json or yaml
  std::optional<std::string> app;     // name, id or client id of a stored app
  std::optional<bool> browser;        // false: login prints the address and opens nothing
};

// An absent file is an empty one. Throws Failure usage with the file and the key that is wrong.
Config load_config(const fs::path& file);
// Keeps the file 0644-with-umask and the other keys; writes it whole or not at all. An empty value
// takes the key out.
void set_config(const fs::path& file, const std::string& key, const std::string& value);

// Whether the host is of this machine: what is sent to it crosses no network.
bool stays_on_machine(std::string_view url);

// Without a slash at the end. Throws Failure usage where it is no http or https address, and where
// credentials would cross a network in plain: http is for loopback, unless `allow_http`.
std::string checked_server(std::string server, bool allow_http);

std::optional<std::string> variable(const char* name);  // of the environment; empty counts as unset

}  // namespace berth::cli
