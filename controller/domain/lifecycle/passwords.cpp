#include "controller/domain/lifecycle/passwords.h"

#include <zxcvbn.h>

#include <cmath>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/oauth/connections.h"

namespace berth::accounts {
namespace {

// Fewer guesses than this are zxcvbn's lowest score, "too guessable".
constexpr double guesses_of_commonest = 1'000;
// Only the beginning of a password is judged: common passwords are short, and zxcvbn's time grows
// with the square of the length (1 ms for 64 bytes).
constexpr size_t looked_at_bytes = 64;

// Returns in words what zxcvbn has recognised in a password.
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

// Returns in words why the password is easy to guess; nothing if it isn't.
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
  const std::string kind = kind_of(parts == nullptr ? NON_MATCH : int(parts->Type));
  ZxcvbnFreeInfo(parts);
  if (!one_part && bits >= std::log2(guesses_of_commonest)) return std::nullopt;
  return kind;
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
  send(tx, user, keys, reset_letter(user.email, base_url, token));
}

}  // namespace

void check_password(std::string_view password, const std::vector<std::string>& own,
                    Blocklist blocklist) {
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

std::vector<std::string> own_words(const std::string& username, const std::string& email) {
  return {username, email, email.substr(0, email.find('@'))};
}

void change_password(db::Tx& tx, const User& user, const std::string& old_hash,
                     const std::string& new_hash, const std::string& kept_session, const Keys& keys,
                     const std::string& base_url) {
  if (!replace_password_hash(tx, user.id, old_hash, new_hash))
    throw Error(Code::invalid_credentials, "the password is wrong");
  end_sessions(tx, user.id, kept_session);
  remove_email_tokens(tx, user.id, EmailPurpose::reset_password);
  send(tx, user, keys, notice_letter(user, "the password was changed", base_url));
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
  end_sessions(tx, user.id);
  if (!user.email_verified) forget_who_registered(tx, user);
  send(tx, user, keys,
       notice_letter(user, "a new password was set by means of a mailed link", base_url));
}

}  // namespace berth::accounts
