#include "controller/domain/lifecycle/passwords.h"

#include <zxcvbn.h>

#include <cctype>
#include <cmath>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/connections.h"

namespace berth::accounts {
namespace {

// Fewer guesses than this are zxcvbn's two lowest scores, "very guessable" at least.
constexpr double guesses_of_common = 1e6;
// One word and a few characters are what attackers try after the lists of passwords, by rules. They
// need zxcvbn's third score, "safely unguessable" online, at least.
constexpr double guesses_of_one_word = 1e8;
// A part with at most this many characters doesn't count as a second word.
constexpr int most_of_filler = 2;
constexpr size_t min_own_word = 3;  // characters; a shorter part of a name is in many passwords
// Whoever changes an account's address may have added a second factor of their own this long
// before.
constexpr Duration factors_doubted_for = std::chrono::days(7);
// Only the beginning of a password is judged: common passwords are short, and zxcvbn's time grows
// with the square of the length (1 ms for 64 bytes).
constexpr size_t looked_at_bytes = 64;

// Describes for people what zxcvbn has recognised in a password.
std::string kind_of(int match_type) {
  if (match_type >= MULTIPLE_MATCH) return "a repetition";
  switch (match_type) {
    case DICTIONARY_MATCH:
    case DICT_LEET_MATCH:
      return "a common password or word";
    case USER_MATCH:
    case USER_LEET_MATCH:
      return "made of your name, your address or this service's name";
    case REPEATS_MATCH:
      return "a repetition";
    case SEQUENCE_MATCH:
      return "a sequence of characters";
    case SPATIAL_MATCH:
      return "a row of keys";
    case DATE_MATCH:
    case YEAR_MATCH:
      return "a date";
    default:
      return "made of few and easy parts";
  }
}

// A row of keys is typed like a word.
bool is_word(int type) {
  const int kind = type % MULTIPLE_MATCH;
  return kind == DICTIONARY_MATCH || kind == DICT_LEET_MATCH || kind == USER_MATCH ||
         kind == USER_LEET_MATCH || kind == SPATIAL_MATCH;
}

// Whether the parts are one word and what people usually add to one: a year, digits, an exclamation
// mark.
bool is_one_word(const ZxcMatch_t* parts) {
  int words = 0;
  for (const ZxcMatch_t* part = parts; part != nullptr; part = part->Next) {
    const int type = int(part->Type);
    const bool is_filler = part->Length <= most_of_filler || type == YEAR_MATCH ||
                           type == DATE_MATCH || type % MULTIPLE_MATCH == SEQUENCE_MATCH ||
                           type % MULTIPLE_MATCH == REPEATS_MATCH;
    if (is_filler) continue;
    if (!is_word(type)) return false;
    ++words;
  }
  return words == 1;
}

// Returns a sentence that says why the password is easy to guess, or nothing if it isn't.
std::optional<std::string> commonness(std::string_view password,
                                      const std::vector<std::string>& own) {
  std::vector<const char*> words = {"berth"};
  for (const std::string& word : own) words.push_back(word.c_str());
  words.push_back(nullptr);
  const std::string text = cut(password, looked_at_bytes);
  ZxcMatch_t* parts = nullptr;
  const double bits = ZxcvbnMatch(text.c_str(), words.data(), &parts);
  const bool one_part = parts != nullptr && parts->Next == nullptr && parts->Type != BRUTE_MATCH &&
                        parts->Type != LONG_PWD_MATCH && parts->Type != NON_MATCH &&
                        password.size() <= looked_at_bytes;
  const bool one_word = is_one_word(parts);
  const bool is_all = parts == nullptr || parts->Next == nullptr;
  std::string kind = kind_of(parts == nullptr ? NON_MATCH : int(parts->Type));
  ZxcvbnFreeInfo(parts);
  const double needed = std::log2(one_word ? guesses_of_one_word : guesses_of_common);
  if (!one_part && bits >= needed) return std::nullopt;
  return is_all ? kind : kind + " with little added";
}

// Nobody has proven yet that the address belongs to the user. Whoever registered it may not be the
// person who reads its mail now, and must not keep a way in (Sudhodanan and Paverd, "Pre-hijacked
// accounts", USENIX Security 2022).
void forget_who_registered(db::Tx& tx, const User& user) {
  two_factor::forget(tx, user.id);
  connections::disconnect_all(tx, user.id);
}

void mail_reset_token(db::Tx& tx, const std::string& email, const Keys& keys,
                      const std::string& base_url) {
  const auto account = credentials(tx, email);
  if (!account) return;
  if (mails_of_last_hour(tx, account->user_id, EmailPurpose::reset_password) >=
      max_reset_mails_per_hour)
    return;
  const User user = *find(tx, account->user_id);
  const std::string token =
      new_email_token(tx, user.id, EmailPurpose::reset_password, reset_lifetime);
  send(tx, user, keys, reset_letter(user, base_url, token));
}

}  // namespace

std::string composed_password(std::string_view password) { return composed(password); }

void check_password(std::string_view typed, const std::vector<std::string>& own,
                    Blocklist blocklist) {
  const std::string password = composed_password(typed);
  const size_t length = characters(password);
  if (length < min_password_length)
    throw invalid_field("password", "must have at least 8 characters");
  if (length > max_password_length)
    throw invalid_field("password", "must have at most 256 characters");
  if (blocklist == Blocklist::off) return;
  if (const auto kind = commonness(password, own))
    throw invalid_field("password", "is " + *kind +
                                        ", which is easy to guess; choose a longer phrase of "
                                        "several words that don't belong together");
}

std::vector<std::string> own_words(const std::string& username, const std::string& email,
                                   const std::string& base_url) {
  std::vector<std::string> words = {username, email, email.substr(0, email.find('@'))};
  for (const std::string& text : {username, email, base_url}) {
    std::string word;
    for (const char c : text + ".") {
      // Bytes beyond ASCII are parts of letters.
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<signed char>(c) < 0) {
        word += c;
        continue;
      }
      if (word.size() >= min_own_word) words.push_back(word);
      word.clear();
    }
  }
  return words;
}

void change_password(db::Tx& tx, const User& user, const PasswordChange& change, const Keys& keys,
                     const std::string& base_url) {
  if (!replace_password_hash(tx, user.id, change.old_hash, change.new_hash))
    throw Error(Code::invalid_credentials, "the password is wrong");
  remove_email_tokens(tx, user.id, EmailPurpose::reset_password);
  email_changes::withdraw(tx, user.id);
  const Language in = user.language;
  const std::string ended =
      change.others == OtherWays::end
          ? in_words(end_ways_in(tx, user.id, change.kept_session), in)
          : messages::say(in, "Other logins, and the access of programs and apps, were kept.") +
                "\n";
  send(tx, user, keys,
       notice_letter(user, messages::say(in, "the password was changed"), base_url, ended));
}

void request_reset(db::Tx& tx, const std::string& email) {
  // No account can have such a long address, so returning early reveals nothing.
  if (email.size() > max_email_length) return;
  tx.execute(R"(
      INSERT INTO reset_requests (id, address, asked_at)
      VALUES ($1, $2, $3))",
             new_uuid(tx.now()), email, tx.now());
}

bool is_any_reset_requested(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM reset_requests LIMIT 1)") > 0;
}

int answer_reset_requests(db::Tx& tx, const Keys& keys, const std::string& base_url, int most) {
  std::vector<std::pair<std::string, std::string>> requests;
  {
    auto rows = tx.query(R"(
      SELECT id, address
      FROM reset_requests
      ORDER BY id
      LIMIT $1)",
                         most);
    while (rows.next()) requests.emplace_back(rows.text("id"), rows.text("address"));
  }
  for (const auto& [id, address] : requests) {
    mail_reset_token(tx, address, keys, base_url);
    tx.execute(R"(DELETE FROM reset_requests WHERE id = $1)", id);
  }
  return int(requests.size());
}

User check_reset_token(db::Tx& tx, const std::string& token) {
  const auto user = find(tx, check_email_token(tx, token, EmailPurpose::reset_password));
  if (!user) throw invalid_field("token", "is unknown or was used before");
  return *user;
}

void reset_password(db::Tx& tx, const std::string& token, const std::string& new_hash,
                    const Keys& keys, const std::string& base_url) {
  const User user = check_reset_token(tx, token);
  take_email_token(tx, token, EmailPurpose::reset_password);
  use_up_email_tokens(tx, user.id, EmailPurpose::reset_password);
  set_password_hash(tx, user.id, new_hash);
  const EndedWays ended = end_ways_in(tx, user.id);
  if (!user.email_verified) forget_who_registered(tx, user);
  send(tx, user, keys,
       notice_letter(
           user, messages::say(user.language, "a new password was set by means of a mailed link"),
           base_url, in_words(ended, user.language)));
}

email_changes::Stopped stop_email_change(db::Tx& tx, const std::string& token) {
  const email_changes::Stopped stopped = email_changes::stop(tx, token);
  if (!stopped.was_confirmed) return stopped;
  end_ways_in(tx, stopped.user_id);
  two_factor::forget_if_newer(tx, stopped.user_id, stopped.asked_at - factors_doubted_for);
  if (const auto user = find(tx, stopped.user_id)) request_reset(tx, user->email);
  return stopped;
}

}  // namespace berth::accounts
