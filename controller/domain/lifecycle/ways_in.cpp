#include "controller/domain/lifecycle/ways_in.h"

#include "controller/base/error.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/passkeys.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/logouts.h"

namespace berth::accounts {

using messages::say;

namespace {

constexpr Duration letters_counted_for = std::chrono::hours(24);

}  // namespace

EndedWays end_ways_in(db::Tx& tx, const std::string& user_id, const std::string& kept) {
  if (!kept.empty()) logouts::note_tokens_ended(tx, kept);
  EndedWays ended = {.sessions = end_sessions(tx, user_id, kept),
                     .tokens = oauth::end_all_tokens(tx, user_id)};
  for (passkeys::Passkey& passkey : passkeys::list(tx, user_id))
    ended.passkeys.push_back(std::move(passkey.name));
  remove_email_tokens(tx, user_id, EmailPurpose::reset_password);
  email_changes::withdraw(tx, user_id);
  return ended;
}

namespace {

// Whoever got into the account may have added one. Each name is one line without controls.
std::string passkeys_in_words(const EndedWays& ended, Language language) {
  if (ended.passkeys.empty()) return "";
  std::string text =
      "\n" + say(language, "Your passkeys still log in. Remove those that aren't yours:") + "\n\n";
  for (const std::string& name : ended.passkeys) text += "  " + name + "\n";
  return text;
}

}  // namespace

std::string in_words(const EndedWays& ended, Language language) {
  const oauth::EndedTokens& tokens = ended.tokens;
  const bool is_nothing = ended.sessions == 0 && tokens.programs.empty() && tokens.apps.empty() &&
                          tokens.personal_tokens.empty();
  if (is_nothing)
    return say(language, "Nobody else was logged in, and no program or app had access.") + "\n" +
           passkeys_in_words(ended, language);
  std::string text = say(language, "What has ended:") + "\n\n";
  if (ended.sessions == 1)
    text += "  " + say(language, "1 login in a browser or with a password") + "\n";
  if (ended.sessions > 1)
    text += "  " +
            say(language, "{count} logins in browsers or with a password",
                {{"count", std::to_string(ended.sessions)}}) +
            "\n";
  for (const std::string& name : ended.tokens.programs)
    text += "  " + say(language, "the program {name}", {{"name", name}}) + "\n";
  for (const std::string& name : ended.tokens.apps)
    text += "  " + say(language, "the access of the app {name}", {{"name", name}}) + "\n";
  for (const std::string& name : ended.tokens.personal_tokens)
    text += "  " + say(language, "the personal access token {name}", {{"name", name}}) + "\n";
  if (ended.tokens.has_more) text += "  " + say(language, "and others") + "\n";
  if (!ended.tokens.apps.empty())
    text += "\n" +
            say(language,
                "The apps stay among your connected apps, and have to ask you for access again.") +
            "\n";
  return text + "\n" + say(language, "The secrets of apps that you own haven't changed.") + "\n" +
         passkeys_in_words(ended, language);
}

EndedWays end_ways_in_as_admin(db::Tx& tx, const std::string& user_id, const std::string& actor,
                               const Keys& keys, const std::string& base_url) {
  const auto user = find(tx, user_id);
  if (!user) throw Error(Code::user_not_found, "there is no such user");
  EndedWays ended = end_ways_in(tx, user_id);
  audit::record(tx, actor, "user.end_sessions", user_id);
  send(tx, *user, keys,
       notice_letter(*user, say(user->language, "an admin has ended all logins and tokens"),
                     base_url, in_words(ended, user->language)));
  return ended;
}

void connect_device(db::Tx& tx, const oauth::Tokens& tokens, const devices::Origin& origin,
                    const Keys& keys, const std::string& base_url) {
  const devices::Device device = devices::connect(tx, tokens, origin);
  const auto today = devices::connected_since(tx, tokens.user_id, tx.now() - letters_counted_for);
  const auto user = find(tx, tokens.user_id);
  if (!user || today > max_device_letters_per_day) return;
  const Language in = user->language;
  std::string details = "  " + say(in, "name: {name}", {{"name", device.name}}) + "\n  " +
                        say(in, "program: {program}", {{"program", device.program}}) + "\n  " +
                        say(in, "address: {address}", {{"address", device.address}}) + "\n\n" +
                        say(in, "You can end it at {link} or with `berth account devices`.",
                            {{"link", base_url + "/account"}}) +
                        "\n";
  if (today == max_device_letters_per_day)
    details += say(in, "This is the last letter of this kind for 24 hours.") + "\n";
  send(tx, *user, keys,
       notice_letter(*user, say(in, "a program has logged in with the client berth"), base_url,
                     details));
}

}  // namespace berth::accounts
