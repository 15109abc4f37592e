#pragma once

#include <optional>
#include <string>

#include "cli/config.h"
#include "cli/output.h"

namespace berth::cli {

// What a run goes by: flags, then variables, then config.yaml, then the defaults.
struct Settings {
  std::string server;
  Format format = Format::table;
  std::string app;  // which stored app; empty: the one in use
  std::string client_id;
  std::optional<std::string> token;          // BERTH_TOKEN
  std::optional<std::string> client_secret;  // BERTH_CLIENT_SECRET
  std::optional<std::string> internal_secret;
  bool opens_browser = true;
  Places places;
};

// The flags that every command takes; empty where they weren't given.
struct GlobalFlags {
  std::string server;
  std::string output;
  std::string app;
  std::string client_id;
  std::string secret_file;  // of `berth admin`
};

// Throws Failure usage.
Settings settle(const GlobalFlags& flags);

}  // namespace berth::cli
