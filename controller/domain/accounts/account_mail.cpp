#include "controller/domain/accounts/account_mail.h"

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/returning_users.h"

namespace berth::accounts {

using messages::say;

namespace {

constexpr Duration counted_time = std::chrono::hours(1);

struct Purpose {
  const char* name;    // as the row stores it
  const char* prefix;  // the token's prefix
};

Purpose about(EmailPurpose purpose) {
  return purpose == EmailPurpose::verify_email ? Purpose{"verify_email", "ev_"}
                                               : Purpose{"reset_password", "pr_"};
}

// How many letters a mailbox may have got today for this one to be sent.
int most_letters(LetterKind kind, bool is_plain_address) {
  constexpr int for_plain = max_letters_to_unverified + more_letters_to_plain_address;
  if (kind == LetterKind::other) return for_plain + more_letters_of_other_kinds;
  return is_plain_address ? for_plain : max_letters_to_unverified;
}

Error refused_token(const char* why, std::string_view reason) {
  return with_event(
      invalid_field("token", why),
      {.kind = SecurityKind::token_rejected, .reason = reason, .token_kind = "mailed_token"});
}

}  // namespace

std::string new_email_token(db::Tx& tx, const std::string& user_id, EmailPurpose purpose,
                            Duration lifetime) {
  const std::string token = random_token(about(purpose).prefix);
  tx.execute(
      R"(
      INSERT INTO email_tokens (token_hash, user_id, purpose, expires_at, created_at)
      VALUES ($1, $2, $3, $4, $5))",
      token_hash(token), user_id, about(purpose).name, tx.now() + lifetime, tx.now());
  return token;
}

std::string check_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose) {
  auto rows = tx.query(
      R"(
      SELECT used_at, expires_at, user_id
      FROM email_tokens
      WHERE token_hash = $1 AND purpose = $2)",
      token_hash(token), about(purpose).name);
  if (!rows.next() || !rows.null("used_at"))
    throw refused_token("is unknown or was used before", "unknown");
  if (rows.instant("expires_at") <= tx.now()) throw refused_token("has expired", "token_expired");
  return rows.text("user_id");
}

std::string take_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose) {
  const std::string user_id = check_email_token(tx, token, purpose);
  if (tx.execute(
          R"(
      UPDATE email_tokens
      SET used_at = $2
      WHERE token_hash = $1 AND used_at IS NULL)",
          token_hash(token), tx.now()) != 1)
    throw invalid_field("token", "is unknown or was used before");
  return user_id;
}

void use_up_email_tokens(db::Tx& tx, const std::string& user_id, EmailPurpose purpose) {
  tx.execute(
      R"(
      UPDATE email_tokens
      SET used_at = $3
      WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL)",
      user_id, about(purpose).name, tx.now());
}

void remove_email_tokens(db::Tx& tx, const std::string& user_id, EmailPurpose purpose) {
  tx.execute(R"(DELETE FROM email_tokens WHERE user_id = $1 AND purpose = $2)", user_id,
             about(purpose).name);
}

std::chrono::seconds until_one_mail_less(db::Tx& tx, const std::string& user_id,
                                         EmailPurpose purpose) {
  auto rows = tx.query(
      R"(
      SELECT created_at
      FROM email_tokens
      WHERE user_id = $1 AND purpose = $2 AND created_at > $3
      ORDER BY created_at
      LIMIT 1)",
      user_id, about(purpose).name, tx.now() - counted_time);
  if (!rows.next()) return std::chrono::seconds(0);
  return std::chrono::ceil<std::chrono::seconds>(rows.instant("created_at") + counted_time -
                                                 tx.now());
}

int mails_of_last_hour(db::Tx& tx, const std::string& user_id, EmailPurpose purpose) {
  return int(tx.number(
      R"(
      SELECT count(*)
      FROM email_tokens
      WHERE user_id = $1 AND purpose = $2 AND created_at > $3)",
      user_id, about(purpose).name, tx.now() - counted_time));
}

bool send(db::Tx& tx, const User& user, const Keys& keys, const outbox::Letter& letter,
          LetterKind kind) {
  if (user.is_guest) return true;  // they have no mailbox
  if (!user.email_verified) {
    const std::string mailbox = mailbox_of(letter.to);
    const int counted = tx.execute(
        R"(
        INSERT INTO unverified_letters (address_hash, day, letters)
        VALUES ($1, $2, 1)
        ON CONFLICT (address_hash, day) DO UPDATE
          SET letters = unverified_letters.letters + 1
          WHERE unverified_letters.letters < $3)",
        hex(sha256(mailbox)), utc_day(tx.now()),
        most_letters(kind, mailbox == email_key(letter.to)));
    if (counted == 0) return false;
  }
  outbox::put(tx, keys.data, letter);
  return true;
}

std::chrono::seconds until_next_letters(db::Tx& tx) {
  const auto midnight = std::chrono::ceil<std::chrono::days>(tx.now());
  return std::chrono::ceil<std::chrono::seconds>(midnight - tx.now());
}

std::string greeting(const User& user) {
  return say(user.language, "Hello {name},", {{"name", user.username}}) + "\n\n";
}

outbox::Letter verification_letter(const User& user, const std::string& base_url,
                                   const std::string& token, const std::string& next) {
  const Language in = user.language;
  const bool leads_on = !next.empty() && next.size() <= max_next_length;
  return {.to = user.email,
          .subject = say(in, "Verify your email address"),
          .body = greeting(user) + say(in, "open this link to verify your address:") + "\n\n  " +
                  base_url + "/verify-email?token=" + token +
                  (leads_on ? "&next=" + percent_encode(next) : "") + "\n\n" +
                  say(in,
                      "Programs can send the token to POST /api/auth/verify-email. It works once, "
                      "within 24 hours.") +
                  "\n" +
                  say(in, "If you didn't create an account, you don't have to do anything.") + "\n",
          .token = token};
}

outbox::Letter reset_letter(const User& user, const std::string& base_url,
                            const std::string& token) {
  const Language in = user.language;
  return {.to = user.email,
          .subject = say(in, "Choose a new password"),
          .body = say(in, "Hello,") + "\n\n" +
                  say(in,
                      "somebody, probably you, asked for a new password for this address. Choose "
                      "it here:") +
                  "\n\n  " + base_url + "/reset-password?token=" + token + "\n\n" +
                  say(in,
                      "Programs can send the token to POST /api/auth/reset-password. It works "
                      "once, within an hour.") +
                  "\n" +
                  say(in,
                      "If it wasn't you, you don't have to do anything: the password stays as it "
                      "is.") +
                  "\n",
          .token = token};
}

outbox::Letter notice_letter(const User& user, const std::string& what, const std::string& base_url,
                             const std::string& details) {
  const Language in = user.language;
  return {.to = user.email,
          .subject = say(in, "Your account: {what}", {{"what", what}}),
          .body = greeting(user) + say(in, "{what}.", {{"what", what}}) + "\n\n" + details +
                  (details.empty() ? "" : "\n") +
                  say(in, "If it wasn't you, choose a new password now: {link}",
                      {{"link", base_url + "/forgot-password"}}) +
                  "\n"};
}

outbox::Letter suspension_letter(const User& user, const std::string& ended) {
  const Language in = user.language;
  return {.to = user.email,
          .subject = say(in, "Your account was suspended"),
          .body = greeting(user) +
                  say(in,
                      "an admin of the platform has suspended your account. Nobody can log in to "
                      "it until an admin ends that.") +
                  "\n\n" + ended};
}

outbox::Letter deletion_letter(const User& user) {
  const Language in = user.language;
  return {.to = user.email,
          .subject = say(in, "Your account was deleted"),
          .body = greeting(user) +
                  say(in,
                      "your account was deleted by somebody who entered its password. Your name "
                      "and address were removed, and the points on the account are lost.") +
                  "\n\n" +
                  say(in,
                      "If it wasn't you, somebody else knows this password: change it wherever "
                      "else you use it.") +
                  "\n"};
}

}  // namespace berth::accounts
