#include "cli/settings.h"

#include <algorithm>

#include "cli/failure.h"
#include "cli/files.h"

namespace berth::cli {
namespace {

std::string first(const std::string& flag, const char* name,
                  const std::optional<std::string>& configured, const std::string& fallback = "") {
  if (!flag.empty()) return flag;
  if (const auto value = one_line(name)) return *value;
  return configured.value_or(fallback);
}

std::optional<std::string> secret_in(const std::string& file) {
  auto secret = read_file(file);
  if (!secret) throw Failure(Exit::usage, "there is no file " + file);
  while (secret->ends_with('\n') || secret->ends_with('\r')) secret->pop_back();
  const bool has_control = std::ranges::any_of(
      *secret, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (secret->empty() || has_control)
    throw Failure(Exit::usage,
                  file + (secret->empty() ? " is empty" : " holds more than one line of text"),
                  "It has to hold nothing but the secret; a line break at the end doesn't matter.");
  return secret;
}

}  // namespace

Settings settle(const GlobalFlags& flags) {
  Settings settings;
  settings.places = places();
  const Config config = load_config(settings.places.config_file);
  settings.server = checked_server(first(flags.server, "BERTH_URL", config.server, default_server),
                                   variable("BERTH_ALLOW_HTTP") == "1");
  settings.format = parse_format(first(flags.output, "BERTH_OUTPUT", config.output, "table"));
  settings.app = first(flags.app, "BERTH_APP", config.app);
  settings.client_id = first(flags.client_id, "BERTH_CLIENT_ID", std::nullopt);
  settings.token = one_line("BERTH_TOKEN");
  settings.client_secret = one_line("BERTH_CLIENT_SECRET");
  settings.id_token = one_line("BERTH_ID_TOKEN");
  settings.actions_url = one_line("ACTIONS_ID_TOKEN_REQUEST_URL");
  settings.actions_token = one_line("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
  settings.internal_secret =
      flags.secret_file.empty() ? one_line("BERTH_INTERNAL_SECRET") : secret_in(flags.secret_file);
  settings.opens_browser = config.browser.value_or(true);
  return settings;
}

}  // namespace berth::cli
