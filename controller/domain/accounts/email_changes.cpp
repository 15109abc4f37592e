#include "controller/domain/accounts/email_changes.h"

#include <optional>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::accounts::email_changes {

using messages::say;

namespace {

Error refused_token(const char* why, std::string_view reason) {
  return with_event(
      invalid_field("token", why),
      {.kind = SecurityKind::token_rejected, .reason = reason, .token_kind = "mailed_token"});
}

Error too_many(const char* why, std::chrono::seconds wait) {
  Error refusal(Code::rate_limited, why);
  refusal.retry_after = wait;
  return refusal;
}

void check_count(db::Tx& tx, const User& user) {
  constexpr Duration day = std::chrono::hours(24);
  auto rows = tx.query(R"(
      SELECT count(*) AS asked, min(asked_at) AS oldest
      FROM email_changes
      WHERE user_id = $1 AND asked_at > $2)",
                       user.id, tx.now() - day);
  if (rows.next() && rows.integer("asked") >= max_in_a_day)
    throw too_many(
        "an account's address can be changed 5 times a day; try again later",
        std::chrono::ceil<std::chrono::seconds>(rows.instant("oldest") + day - tx.now()));
}

void check_free(db::Tx& tx, const char* field, const std::string& email,
                const std::string& user_id) {
  if (const auto other = credentials(tx, email);
      (other && other->user_id != user_id) || is_kept(tx, email, user_id))
    throw invalid_field(field, "has already been taken");
}

struct Change {
  std::string user_id, old_email, new_email;
  bool old_verified = false;
  Instant asked_at;
  std::optional<Instant> confirmed_at;
};

std::optional<Change> find(db::Tx& tx, std::string_view sql, const std::string& token) {
  auto rows = tx.query(sql, token_hash(token));
  if (!rows.next()) return std::nullopt;
  return Change{.user_id = rows.text("user_id"),
                .old_email = rows.text("old_email"),
                .new_email = rows.text("new_email"),
                .old_verified = rows.flag("old_verified"),
                .asked_at = rows.instant("asked_at"),
                .confirmed_at = rows.instant_or_null("confirmed_at")};
}

outbox::Letter confirmation_letter(const User& user, const std::string& new_email,
                                   const std::string& base_url, const std::string& token) {
  const Language in = user.language;
  return {
      .to = new_email,
      .subject = say(in, "Confirm your new email address"),
      .body = greeting(user) + say(in, "open this link to make this the address of your account:") +
              "\n\n  " + base_url + "/email-change?token=" + token + "\n\n" +
              say(in,
                  "Programs can send the token to POST /api/auth/email-change/confirm. It "
                  "works once, within 24 hours.") +
              "\n" + say(in, "If you don't know of this, you don't have to do anything.") + "\n",
      .token = token};
}

outbox::Letter warning_letter(const User& user, const std::string& new_email,
                              const std::string& base_url, const std::string& stop_token) {
  const Language in = user.language;
  outbox::Letter letter = {
      .to = user.email,
      .subject = say(in, "Your account: somebody asked for another email address"),
      .body = greeting(user) +
              say(in,
                  "somebody who entered your password, probably you, asked to change the address "
                  "of your account to {address}. It changes once that address has confirmed it.",
                  {{"address", new_email}}) +
              "\n"};
  if (!user.email_verified) return letter;
  letter.body += "\n" + say(in, "If it wasn't you, stop the change here:") + "\n\n  " + base_url +
                 "/email-change/stop?token=" + stop_token + "\n\n" +
                 say(in,
                     "The link works for 7 days, also after the change: your account then gets "
                     "this address back, and everybody is logged out.") +
                 "\n";
  letter.token = stop_token;
  return letter;
}

outbox::Letter changed_letter(const User& user, const Change& change) {
  const Language in = user.language;
  return {.to = change.old_email,
          .subject = say(in, "Your account: the email address was changed"),
          .body = greeting(user) +
                  say(in,
                      "the address of your account is {address} now; this one no longer belongs to "
                      "it.",
                      {{"address", change.new_email}}) +
                  "\n\n" +
                  say(in,
                      "If it wasn't you, use the link in the mail that we sent here before: it "
                      "works for 7 days after that mail, and gives your account its address "
                      "back.") +
                  "\n"};
}

}  // namespace

void ask(db::Tx& tx, const User& user, const std::string& new_email, const Keys& keys,
         const std::string& base_url) {
  tx.require_serializable();
  check_email(new_email, "new_email");
  if (email_key(new_email) == email_key(user.email))
    throw invalid_field("new_email", "is the present address of the account");
  check_free(tx, "new_email", new_email, user.id);
  check_count(tx, user);
  withdraw(tx, user.id);
  const std::string confirm_token = random_token("ec_"), stop_token = random_token("es_");
  tx.execute(
      R"(
      INSERT INTO email_changes (stop_hash, confirm_hash, user_id, old_email, old_key,
                                 old_verified, new_email, asked_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8))",
      token_hash(stop_token), token_hash(confirm_token), user.id, user.email, email_key(user.email),
      user.email_verified, new_email, tx.now());
  User receiver = user;
  receiver.email_verified = false;  // nobody has proven the new address
  if (!send(tx, receiver, keys, confirmation_letter(user, new_email, base_url, confirm_token),
            LetterKind::verification))
    throw too_many("this address has received as many mails as it may today; try again tomorrow",
                   until_next_letters(tx));
  send(tx, user, keys, warning_letter(user, new_email, base_url, stop_token));
}

User confirm(db::Tx& tx, const std::string& token, const SignupBonus& bonus, const Keys& keys) {
  tx.require_serializable();
  constexpr std::string_view by_token = R"(
      SELECT user_id, old_email, new_email, old_verified, asked_at, confirmed_at
      FROM email_changes
      WHERE confirm_hash = $1)";
  const auto change = find(tx, by_token, token);
  if (!change) throw refused_token("is unknown or was used before", "unknown");
  if (change->asked_at + confirmed_within <= tx.now())
    throw refused_token("has expired", "token_expired");
  const auto before = accounts::find(tx, change->user_id);
  if (!before) throw refused_token("is unknown or was used before", "unknown");
  check_free(tx, "email", change->new_email, before->id);
  if (tx.execute(
          R"(
          UPDATE email_changes
          SET confirmed_at = $2, confirm_hash = NULL
          WHERE confirm_hash = $1)",
          token_hash(token), tx.now()) != 1)
    throw refused_token("is unknown or was used before", "unknown");
  // The old mailbox has had its bonus, and the account may not have that of a new one, either.
  if (change->old_verified) remember_address(tx, change->old_email, keys.data);
  if (is_returning(tx, change->new_email, keys.data)) set_returning(tx, before->id);
  set_email(tx, before->id, change->new_email);
  remove_email_tokens(tx, before->id, EmailPurpose::reset_password);
  remove_email_tokens(tx, before->id, EmailPurpose::verify_email);
  mark_verified(tx, before->id, bonus);
  send(tx, *before, keys, changed_letter(*before, *change));
  return *accounts::find(tx, before->id);
}

Stopped stop(db::Tx& tx, const std::string& token) {
  constexpr std::string_view by_token = R"(
      SELECT user_id, old_email, new_email, old_verified, asked_at, confirmed_at
      FROM email_changes
      WHERE stop_hash = $1)";
  const auto change = find(tx, by_token, token);
  if (!change || !change->old_verified)
    throw refused_token("is unknown or was used before", "unknown");
  if (change->asked_at + undone_within <= tx.now())
    throw refused_token("has expired", "token_expired");
  // The change itself may have been withdrawn in favour of a newer one that was confirmed.
  const bool was_confirmed = tx.number(R"(
                                 SELECT count(*)
                                 FROM email_changes
                                 WHERE user_id = $1 AND asked_at >= $2 AND confirmed_at IS NOT NULL)",
                                       change->user_id, change->asked_at) > 0;
  if (tx.execute(R"(DELETE FROM email_changes WHERE user_id = $1 AND asked_at >= $2)",
                 change->user_id, change->asked_at) == 0)
    throw db::Overtaken("the change of address was stopped already");
  const Stopped stopped = {
      .user_id = change->user_id, .was_confirmed = was_confirmed, .asked_at = change->asked_at};
  if (!stopped.was_confirmed) return stopped;
  set_email(tx, change->user_id, change->old_email);
  remove_email_tokens(tx, change->user_id, EmailPurpose::reset_password);
  end_sessions(tx, change->user_id);
  return stopped;
}

void withdraw(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(UPDATE email_changes SET confirm_hash = NULL WHERE user_id = $1)", user_id);
}

bool is_kept(db::Tx& tx, std::string_view email, const std::string& user_id) {
  return tx.number(
             R"(
             SELECT count(*)
             FROM email_changes
             WHERE old_key = $1 AND user_id <> $2 AND confirmed_at IS NOT NULL
               AND old_verified = 1 AND asked_at > $3)",
             email_key(email), user_id, tx.now() - undone_within) > 0;
}

std::vector<std::string> addresses(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> all;
  auto rows =
      tx.query(R"(SELECT old_email, new_email FROM email_changes WHERE user_id = $1)", user_id);
  while (rows.next())
    for (const char* column : {"old_email", "new_email"}) all.push_back(rows.text(column));
  return all;
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM email_changes WHERE user_id = $1)", user_id);
}

}  // namespace berth::accounts::email_changes
