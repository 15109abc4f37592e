#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/failure.h"

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

// Relative paths in the variables count as unset, as the XDG specification demands. A path is empty
// if neither its variable nor HOME is set, as in many a CI job: there is nothing to read then, and
// writing it throws, see no_place().
Places places();
// Failure `usage`, which says what has to be set so that `what` can be stored.
Failure no_place(const std::string& what, const char* variable);

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
// Sets one key and keeps everything else: the other keys, the comments, the file's mode and, if it
// is a symbolic link, the link. Writes the whole file or nothing. An empty value removes the key.
void set_config(const fs::path& file, const std::string& key, const std::string& value);

// Whether the host of the URL is this machine, so that what is sent to it crosses no network.
bool stays_on_machine(std::string_view url);

// Returns the address without a slash at its end. Throws Failure `usage` if it isn't an http or
// https address, and if credentials would cross a network unencrypted: http is for loopback only,
// unless `allow_http`.
std::string checked_server(std::string server, bool allow_http);

// An environment variable; an empty one counts as unset.
std::optional<std::string> variable(const char* name);
// The same for one that is sent to the server or names it: blanks and line ends around it, which
// files and secrets of CI services often have at their end, are left out. Throws Failure `usage`,
// without the value, if it has a line end or another control character within.
std::optional<std::string> one_line(const char* name);

}  // namespace berth::cli
