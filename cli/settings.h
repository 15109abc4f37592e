#pragma once

#include <optional>
#include <string>

#include "cli/config.h"
#include "cli/output.h"

namespace berth::cli {

// The settings of a run. Flags take precedence over environment variables, those over config.yaml,
// and that over the defaults.
struct Settings {
  std::string server;
  Format format = Format::table;
  std::string app;  // the stored app to use; empty: the current one
  std::string client_id;
  std::optional<std::string> token;          // BERTH_TOKEN
  std::optional<std::string> client_secret;  // BERTH_CLIENT_SECRET
  std::optional<std::string> id_token;       // BERTH_ID_TOKEN
  std::optional<std::string> actions_url;    // ACTIONS_ID_TOKEN_REQUEST_URL
  std::optional<std::string> actions_token;  // ACTIONS_ID_TOKEN_REQUEST_TOKEN
  std::optional<std::string> internal_secret;
  bool opens_browser = true;
  Places places;
};

// The flags that every command accepts; empty if they weren't given.
struct GlobalFlags {
  std::string server;
  std::string output;
  std::string app;
  std::string client_id;
  std::string secret_file;  // for `berth admin`
};

// Determines the settings. Throws Failure `usage`.
Settings settle(const GlobalFlags& flags);

}  // namespace berth::cli
