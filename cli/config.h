#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// The user's preferences, and where files are stored (XDG Base Directory Specification 0.8).
namespace berth::cli {

namespace fs = std::filesystem;

struct Places {
  fs::path config_file;  // $XDG_CONFIG_HOME/berth/config.yaml or ~/.config/…; edited by the user
  // $XDG_STATE_HOME/berth or ~/.local/state/…; holds the credentials. They are state and not
  // configuration, because the client rewrites them by itself and they are useless on another
  // machine.
  fs::path state_dir;
};

// Relative paths in the variables count as unset, as the XDG specification demands. Throws Failure
// `usage` if neither the variables nor HOME are set.
Places places();

constexpr const char* default_server = "http://127.0.0.1:8080";  // the address of `make run`

// The keys of config.yaml, under the names that they have in it. None of them is secret.
struct Config {
  std::optional<std::string> server;
  std::optional<std::string> output;  // table, json or yaml
  std::optional<std::string> app;     // the name, id or client id of a stored app
  std::optional<bool> browser;  // false: login prints the address instead of opening a browser
};

// Reads the configuration. A missing file counts as empty. Throws Failure `usage`, which names the
// file and the key that is wrong.
Config load_config(const fs::path& file);
// Sets one key and keeps the others. Writes the whole file or nothing, with the mode that the umask
// gives. An empty value removes the key.
void set_config(const fs::path& file, const std::string& key, const std::string& value);

// Whether the host of the URL is this machine, so that what is sent to it crosses no network.
bool stays_on_machine(std::string_view url);

// Returns the address without a slash at its end. Throws Failure `usage` if it isn't an http or
// https address, and if credentials would cross a network unencrypted: http is for loopback only,
// unless `allow_http`.
std::string checked_server(std::string server, bool allow_http);

// An environment variable; an empty one counts as unset.
std::optional<std::string> variable(const char* name);

}  // namespace berth::cli
