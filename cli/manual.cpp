#include "cli/manual.h"

#include <algorithm>
#include <array>
#include <vector>

#include "cli/failure.h"
#include "cli/tree.h"
#include "controller/base/roff.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

using roff::escaped;
using roff::tagged;

// Returns a flag as the manual shows it, such as "--output, -o VALUE".
std::string flag_tag(const FlagInfo& flag) {
  const std::string tag = joined(flag.names, ", ");
  return !flag.positional && flag.takes_value ? tag + " VALUE" : tag;
}

// The description with the values to choose from and the default.
std::string flag_meaning(const FlagInfo& flag) {
  std::string text = flag.description;
  if (!flag.choices.empty()) text += ": " + joined(flag.choices, ", ");
  if (!flag.fallback.empty() && flag.fallback != "false") text += " (" + flag.fallback + ")";
  return text + ".";
}

std::string flag_text(const FlagInfo& flag) { return tagged(flag_tag(flag), flag_meaning(flag)); }

// Returns a command as the manual shows it, such as "berth apps show [APP]".
std::string synopsis(const CommandInfo& command) {
  std::string line = command.path;
  for (const FlagInfo& flag : command.flags)
    if (flag.positional) line += " " + (flag.required ? flag.names[0] : "[" + flag.names[0] + "]");
  return command.commands.empty() ? line : line + " COMMAND";
}

// Returns the other names of a command, such as " Also called ls, ps."; an empty text if it has
// only one.
std::string other_names(const CommandInfo& command) {
  return command.aliases.empty() ? "" : " Also called " + joined(command.aliases, ", ") + ".";
}

bool is_help(const FlagInfo& flag) { return flag.names[0] == "--help"; }

// The commands that the manual describes: a group only where it has flags, which all of its
// commands take.
std::vector<const CommandInfo*> described(const CommandInfo& root) {
  std::vector<const CommandInfo*> result;
  for (const CommandInfo* command : flattened(root))
    if (command != &root &&
        (command->commands.empty() || !std::ranges::all_of(command->flags, is_help)))
      result.push_back(command);
  return result;
}

std::string commands(const CommandInfo& root) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandInfo* command : described(root)) {
    text += ".SS \"" + escaped(synopsis(*command)) + "\"\n" +
            escaped(command->description + "." + other_names(*command)) + "\n";
    for (const FlagInfo& flag : command->flags)
      if (!is_help(flag)) text += flag_text(flag);
    if (!command->example.empty())
      text += ".PP\nExample:\n.br\n.RS\n" + escaped(command->example) + "\n.RE\n";
  }
  return text;
}

struct Entry {
  const char* name;
  const char* meaning;
};

constexpr std::array environment = std::to_array<Entry>({
    {"BERTH_URL", "The server, as with `--server`."},
    {"BERTH_TOKEN",
     "A personal access token (pat_live_...), an access token (at_live_...) of an app or of `berth "
     "login`, or a session JWT, for CI; nothing is stored if it is set."},
    {"BERTH_CLIENT_ID, BERTH_CLIENT_SECRET",
     "An app's own credentials, for CI; each run gets a token by client credentials."},
    {"BERTH_APP, BERTH_OUTPUT",
     "The app and the format of the output, as with `--app` and `--output`."},
    {"BERTH_INTERNAL_SECRET", "The platform's internal secret, for `berth admin`."},
    {"BERTH_ALLOW_HTTP", "If set to 1, plain http is allowed for servers on other machines."},
    {"https_proxy, http_proxy, all_proxy, no_proxy",
     "The proxy, and the hosts that are reached without it. This machine's addresses never use "
     "it."},
    {"SSL_CERT_FILE, SSL_CERT_DIR",
     "Certificates of authorities to trust, for a server whose authority the system doesn't know."},
    {"BROWSER", "The program that opens pages, instead of xdg-open."},
    {"NO_COLOR", "With any value, nothing is printed in colour (no-color.org)."},
});

constexpr std::array files = std::to_array<Entry>({
    {"$XDG_CONFIG_HOME/berth/config.yaml",
     "Defaults: server, output, app, browser. The directory is ~/.config if the variable isn't "
     "set."},
    {"$XDG_STATE_HOME/berth/credentials.json",
     "The logins, the apps' secrets and their tokens, with mode 0600. The directory is "
     "~/.local/state if the variable isn't set."},
});

std::string around() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const Entry& entry : environment) text += tagged(entry.name, entry.meaning);
  text += ".SH FILES\n";
  for (const Entry& entry : files) text += tagged(entry.name, entry.meaning);
  return text;
}

constexpr const char* exit_of_run =
    "`berth run` ends with the exit code of its command, and with 130 if the command was "
    "cancelled.";

std::string exits() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitInfo& info : exit_codes())
    text += tagged(std::to_string(int(info.exit)), std::string(info.meaning) + ".");
  return text + ".PP\n" + escaped(exit_of_run) + "\n";
}

// A row of a table in Markdown; `name` is code.
std::string row(const std::string& name, const std::string& meaning) {
  return "| `" + name + "` | " + meaning + " |\n";
}

std::string flag_table(const CommandInfo& command) {
  std::string rows;
  for (const FlagInfo& flag : command.flags)
    if (!is_help(flag))
      rows += row(flag_tag(flag),
                  flag_meaning(flag) + (flag.required && !flag.positional ? " Required." : ""));
  return rows.empty() ? "" : "\n| argument or flag | meaning |\n| --- | --- |\n" + rows;
}

constexpr const char* example =
    ".SH EXAMPLES\n"
    "A berth.yaml for\n.BR \"berth deploy up\" :\n"
    ".PP\n.nf\n.RS\n"
    "deployments:\n"
    "\\-   name: shop\n"
    "    image: docker.io/library/shop:2\n"
    "    tier: basic\n"
    "    port: 8080\n"
    "    health_path: /healthz\n"
    "    custom_domain: shop.example.com\n"
    "    env_vars:\n"
    "      LOG_LEVEL: info\n"
    "      DB_PASSWORD: ${DB_PASSWORD}\n"
    "    release_command: [./migrate]\n"
    "    crons:\n"
    "    \\-   name: nightly\n"
    "        schedule: 0 3 * * *\n"
    "        command: [./clean\\-up]\n"
    ".RE\n.fi\n";

}  // namespace

std::string manual_page(const CLI::App& app) {
  const CommandInfo root = tree_of(app);
  std::string text =
      ".TH BERTH 1 \"\" \"berth\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nberth \\- " +
      escaped(root.description) +
      "\n.SH SYNOPSIS\n.B berth\n.RI [ options ] \" command \" [ arguments ]\n.SH OPTIONS\nEvery "
      "command accepts these.\n";
  for (const FlagInfo& flag : root.flags) text += flag_text(flag);
  return text + commands(root) + around() + exits() + example;
}

std::string manual_markdown(const CLI::App& app) {
  const CommandInfo root = tree_of(app);
  std::string text = "## Options of every command\n" + flag_table(root) + "\n## Commands\n";
  for (const CommandInfo* command : described(root))
    text += "\n### `" + synopsis(*command) + "`\n\n" + command->description + "." +
            other_names(*command) + "\n" +
            (command->example.empty() ? "" : "Example: `" + command->example + "`\n") +
            flag_table(*command);
  text += "\n## Variables\n\n| variable | meaning |\n| --- | --- |\n";
  for (const Entry& entry : environment) text += row(entry.name, entry.meaning);
  text += "\n## Files\n\n| file | what it holds |\n| --- | --- |\n";
  for (const Entry& entry : files) text += row(entry.name, entry.meaning);
  text += "\n## Exit codes\n\n| exit code | meaning |\n| --- | --- |\n";
  for (const ExitInfo& info : exit_codes())
    text += row(std::to_string(int(info.exit)), std::string(info.meaning));
  return text + "\n" + exit_of_run + "\n";
}

}  // namespace berth::cli
