#include "cli/manual.h"

#include "cli/failure.h"
#include "cli/tree.h"

namespace berth::cli {
namespace {

// Escapes dashes, so that they aren't turned into hyphens, and lines that would start a macro.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + escaped(tag) + "\n" + escaped(text) + "\n";
}

std::string flag_text(const FlagInfo& flag) {
  std::string tag;
  for (const std::string& name : flag.names) tag += (tag.empty() ? "" : ", ") + name;
  if (!flag.positional && flag.takes_value) tag += " VALUE";
  std::string text = flag.description;
  std::string choices;
  for (const std::string& choice : flag.choices) choices += (choices.empty() ? "" : ", ") + choice;
  if (!choices.empty()) text += ": " + choices;
  if (!flag.fallback.empty() && flag.fallback != "false") text += " (" + flag.fallback + ")";
  return tagged(tag, text + ".");
}

std::string usage(const CommandInfo& command, const std::string& behind) {
  std::string line = ".SS \"" + escaped(command.path);
  for (const FlagInfo& flag : command.flags)
    if (flag.positional) line += " " + (flag.required ? flag.names[0] : "[" + flag.names[0] + "]");
  return line + behind + "\"\n" + escaped(command.description) + ".\n";
}

std::string commands(const CommandInfo& root) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandInfo* command : flattened(root)) {
    const bool is_group = !command->commands.empty();
    std::string flags;
    for (const FlagInfo& flag : command->flags)
      if (flag.names[0] != "--help") flags += flag_text(flag);
    // The flags of a group are accepted by all of its commands.
    if (command != &root && (!is_group || !flags.empty()))
      text += usage(*command, is_group ? " COMMAND" : "") + flags;
  }
  return text;
}

std::string around() {
  return ".SH ENVIRONMENT\n" + tagged("BERTH_URL", "The server, as --server.") +
         tagged("BERTH_TOKEN",
                "An access token (at_live_...) or a session JWT, for CI; nothing is "
                "stored then.") +
         tagged("BERTH_CLIENT_ID, BERTH_CLIENT_SECRET",
                "An app's own credentials, for CI: each run gets a token by client credentials.") +
         tagged("BERTH_APP, BERTH_OUTPUT", "As --app and --output.") +
         tagged("BERTH_INTERNAL_SECRET", "The platform's secret, for berth admin.") +
         tagged("BERTH_ALLOW_HTTP",
                "1: speaks plain http to servers that aren't on this machine.") +
         tagged("https_proxy, http_proxy, all_proxy, no_proxy",
                "The proxy, and the hosts without one. Addresses of this machine have none.") +
         tagged("SSL_CERT_FILE, SSL_CERT_DIR",
                "Certificates of authorities that are trusted, for a server whose own authority "
                "the system doesn't know.") +
         tagged("BROWSER", "The program that opens pages instead of xdg-open.") + ".SH FILES\n" +
         tagged("$XDG_CONFIG_HOME/berth/config.yaml",
                "Defaults: server, output, app, browser. Without the variable: ~/.config.") +
         tagged("$XDG_STATE_HOME/berth/credentials.json",
                "The session, the apps' secrets and their tokens, mode 0600. Without the variable: "
                "~/.local/state.");
}

std::string exits() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitInfo& info : exit_codes())
    text += tagged(std::to_string(int(info.exit)), std::string(info.meaning) + ".");
  return text;
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
    ".RE\n.fi\n";

}  // namespace

std::string manual_page(const CLI::App& app) {
  const CommandInfo root = tree_of(app);
  std::string text =
      ".TH BERTH 1 \"\" \"berth\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nberth \\- " +
      escaped(root.description) +
      "\n.SH SYNOPSIS\n.B berth\n.RI [ options ] \" command \" [ arguments ]\n"
      ".SH OPTIONS\nTaken by every command.\n";
  for (const FlagInfo& flag : root.flags) text += flag_text(flag);
  return text + commands(root) + around() + exits() + example;
}

}  // namespace berth::cli
