// The commands for the second factor of the user's own account: codes of an authenticator (TOTP).
#include "cli/commands/account.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

struct TotpFlags {
  std::string code;
  bool password_stdin = false;
};
using SharedTotpFlags = std::shared_ptr<TotpFlags>;

constexpr const char* from_stdin = "Read the password from stdin instead of asking";

// A change of the second factor needs a fresh login or the password.
json with_proof(Run& run, const std::string& path, json body, bool password_stdin) {
  return call_with_proof(
      run, {.method = "POST", .path = path, .as = As::account, .body = std::move(body)},
      password_stdin);
}

// Whoever changes what logs them in may be shutting somebody out.
constexpr const char* how_to_end_others = "`berth sessions end --others` ends your other logins.";

std::string recovery_codes(const json& answer) {
  std::string text = "Recovery codes; each of them works once in place of a code. Keep them:\n";
  for (const json& code : answer.at("recovery_codes"))
    text += "  " + printable(code.get<std::string>()) + "\n";
  return text + how_to_end_others + "\n";
}

json set_up(Run& run) { return run.api().post("/api/auth/totp/setup", nullptr, As::account); }

void enable(Run& run, const TotpFlags& flags) {
  std::string code = flags.code;
  if (code.empty()) {
    if (!is_interactive())
      throw Failure(Exit::usage, "which code?",
                    "`berth totp setup` prints the secret for the authenticator; pass its code "
                    "with --code.");
    const json secret = set_up(run);
    say("Give this to your authenticator: " + cell(secret, "uri"));
    say("or type its secret there: " + cell(secret, "secret"));
    code = ask("Code that it shows", "Pass --code.");
  }
  const json answer =
      with_proof(run, "/api/auth/totp/enable", {{"code", code}}, flags.password_stdin);
  run.out().print(
      answer, [&] { return "From now on, a login needs a code, too. " + recovery_codes(answer); });
}

// Recovery codes are a second factor themselves, so it has to be proven for them.
json new_recovery_codes(Run& run, TotpFlags flags) {
  const auto post = [&] {
    const json body = flags.code.empty() ? json::object() : json{{"totp_code", flags.code}};
    return run.api().post("/api/auth/totp/recovery-codes", body, As::account);
  };
  try {
    return post();
  } catch (const Failure& failure) {
    const bool is_asked = failure.server_code == "insufficient_user_authentication";
    if (!is_asked || !flags.code.empty() || !is_interactive()) throw;
  }
  flags.code = ask("Code of your authenticator, or a recovery code", "Pass --code.");
  return post();
}

}  // namespace

void add_totp_commands(CLI::App& root, Run& run) {
  CLI::App* totp = add_group(root, "totp", "The second factor of your account");
  add_command(*totp, "setup",
              "Print a new secret for an authenticator; `berth totp enable` confirms it",
              "berth totp setup", [&run] {
                const json body = set_up(run);
                run.out().object(body, body, {{"Secret", "secret"}, {"Address", "uri"}});
              });
  const SharedTotpFlags on = std::make_shared<TotpFlags>();
  CLI::App* enabling = add_command(*totp, "enable", "Turn the second factor on",
                                   "berth totp enable", [&run, on] { enable(run, *on); });
  enabling->add_option("--code", on->code, "Code of the authenticator, after `berth totp setup`");
  enabling->add_flag("--password-stdin", on->password_stdin, from_stdin);

  const SharedTotpFlags fresh = std::make_shared<TotpFlags>();
  CLI::App* codes =
      add_command(*totp, "recovery-codes", "Make new recovery codes; the old ones stop working",
                  "berth totp recovery-codes --code 123456", [&run, fresh] {
                    const json answer = new_recovery_codes(run, *fresh);
                    run.out().print(answer, [&] { return recovery_codes(answer); });
                  });
  codes->add_option("--code", fresh->code,
                    "Code of the authenticator, or a recovery code; not needed within ten minutes "
                    "of a login with one");

  const SharedTotpFlags off = std::make_shared<TotpFlags>();
  CLI::App* disabling = add_command(
      *totp, "disable", "Turn the second factor off", "berth totp disable --code 123456",
      [&run, off] {
        const json body = {{"code", off->code}, {"password", password_of(off->password_stdin)}};
        run.out().done(run.api().post("/api/auth/totp/disable", body, As::account),
                       std::string("The second factor is off. ") + how_to_end_others);
      });
  disabling->add_option("--code", off->code, "Code of the authenticator, or a recovery code")
      ->required();
  disabling->add_flag("--password-stdin", off->password_stdin, from_stdin);
}

}  // namespace berth::cli
