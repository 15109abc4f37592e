#include "controller/domain/accounts/accounts.h"

#include <algorithm>
#include <cctype>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/account_rows.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/given_up_names.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/rewards.h"

namespace berth::accounts {
namespace {

constexpr size_t referral_code_length = 10;

std::int64_t multiplier(std::int64_t number, const SignupBonus& bonus) {
  if (number <= bonus.first_count) return bonus.first_multiplier;
  return number <= bonus.early_count ? bonus.early_multiplier : 1;
}

std::string new_referral_code() {
  // Letters and digits that look alike are left out, because people read these codes out.
  static constexpr std::string_view alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::string code = random_bytes(referral_code_length);
  for (char& c : code) c = alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  return code;
}

// Returns the form in which codes are stored, since people type what they have heard.
std::string typed_code(const std::string& code) {
  std::string result;
  for (const char c : code)
    if (c != ' ') result += char(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::optional<std::string> referrer(db::Tx& tx, const std::optional<std::string>& code) {
  const std::string typed = typed_code(code.value_or(""));
  if (typed.empty()) return std::nullopt;
  auto rows = tx.query(
      R"(
      SELECT id
      FROM users
      WHERE referral_code = $1 AND deleted_at IS NULL AND guest_of IS NULL)",
      typed);
  if (!rows.next()) throw invalid_field("referral_code", "is unknown");
  return rows.text("id");
}

}  // namespace

void check_not_taken(db::Tx& tx, const Registration& registration) {
  Details taken;
  if (tx.number(R"(SELECT count(*) FROM users WHERE email_key = $1)",
                email_key(registration.email)) > 0 ||
      email_changes::is_kept(tx, registration.email, ""))
    taken["email"] = {"has already been taken"};
  if (tx.number(R"(SELECT count(*) FROM users WHERE username_key = $1)",
                folded(registration.username)) > 0)
    taken["username"] = {"has already been taken"};
  if (taken.size() > 1)
    throw Error(Code::validation_failed, "email and username have already been taken", taken);
  if (!taken.empty()) throw invalid_field(taken.begin()->first, taken.begin()->second.front());
}

namespace {

void send_verification(db::Tx& tx, const User& user, const Keys& keys, const std::string& base_url,
                       const std::string& next) {
  const std::string token =
      new_email_token(tx, user.id, EmailPurpose::verify_email, verification_lifetime);
  if (send(tx, user, keys, verification_letter(user, base_url, token, next),
           LetterKind::verification))
    return;
  Error refusal(Code::rate_limited,
                "this address has received as many mails as it may today; try again tomorrow");
  refusal.retry_after = until_next_letters(tx);
  throw refusal;
}

// Guests have negative numbers, and the keeper has 0.
std::int64_t next_registration_number(db::Tx& tx) {
  return std::max<std::int64_t>(
             0, tx.number(R"(SELECT coalesce(max(registration_number), 0) FROM users)")) +
         1;
}

void pay_signup_bonus(db::Tx& tx, const User& user, const SignupBonus& bonus) {
  tx.require_serializable();  // for the limit of the day
  const std::int64_t amount = bonus.points * user.signup_multiplier;
  if (amount < 1) return;
  if (tx.number(R"(SELECT is_returning FROM users WHERE id = $1)", user.id) != 0) return;
  const std::int64_t today = utc_day(tx.now());
  const std::int64_t paid_today =
      ledger::sum_of_kind(tx, ledger::treasury(), to_string(rewards::Kind::signup), today, today)
          .debited;
  if (paid_today + amount > bonus.daily_points) {
    log::warning("no sign-up bonus was paid: the limit of the day is reached", {{"user", user.id}});
    return;
  }
  if (!rewards::give(tx, {.kind = rewards::Kind::signup,
                          .user_id = user.id,
                          .app_owner_id = {},
                          .amount = amount,
                          .memo = "sign-up bonus"}))
    return;
  tx.require_change(R"(
      UPDATE users
      SET signup_bonus = $2, signup_bonus_at = $3
      WHERE id = $1 AND signup_bonus_at IS NULL)",
                    user.id, amount, tx.now());
}

}  // namespace

std::string folded(std::string_view text) { return lower_case(text); }

std::string email_key(std::string_view email) {
  return canonical_mail_address(email).value_or(folded(email));
}

User user_of(const db::Query& row) {
  return {.id = row.text("id"),
          .email = row.text("email"),
          .username = row.text("username"),
          .tier = row.text("tier"),
          .is_admin = row.flag("is_admin"),
          .admin_role =
              row.flag("is_admin")
                  ? std::optional(
                        db::enum_or_null<AdminRole>(row, "admin_role").value_or(AdminRole::admin))
                  : std::nullopt,
          .email_verified = !row.null("email_verified_at"),
          .totp_enabled = !row.null("totp_enabled_at"),
          .passkeys = row.integer("passkeys"),
          .suspended = !row.null("suspended_at"),
          .is_guest = !row.null("guest_of"),
          .points = row.integer("points"),
          .referral_code = row.text("referral_code"),
          .registration_number = row.integer("registration_number"),
          .signup_multiplier = row.integer("signup_multiplier"),
          .language = db::enum_of<Language>(row, "language"),
          .created_at = row.instant("created_at")};
}

void check_email(std::string_view email, const std::string& field) {
  if (const auto canonical = canonical_mail_address(email); !canonical)
    throw invalid_field(field, std::string(canonical.error()));
  else if (is_guest_address(*canonical))
    throw invalid_field(field, "must not end with @guest.invalid, where no mail can be sent");
}

void check_username(std::string_view username) {
  const size_t length = characters(username);
  if (length < min_username_length || length > max_username_length)
    throw invalid_field("username", "must have 2 to 32 characters");
  const bool plain = std::ranges::all_of(username, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
  if (!plain) throw invalid_field("username", "may contain only letters, digits, '_', '-' and '.'");
}

void check_name(const std::string& field, std::string_view name, const ReservedNames& reserved) {
  if (reserved.forbids_name(name))
    throw invalid_field(
        field, "is reserved for the platform or looks like a reserved name; choose another");
}

void check_not_reserved(std::string_view username, const ReservedNames& reserved) {
  check_name("username", username, reserved);
}

User register_user(db::Tx& tx, const Registration& registration, const SignupBonus& bonus,
                   const Keys& keys, const std::string& base_url) {
  tx.require_serializable();
  check_not_taken(tx, registration);
  take_up(tx, "username", NameKind::user, registration.username, "");
  const auto referred_by = referrer(tx, registration.referral_code);
  const std::int64_t number = next_registration_number(tx);
  const std::string id = new_uuid(tx.now());
  tx.execute(
      R"(
      INSERT INTO users (id, email, email_key, username, username_key, password_hash,
                         referral_code, referred_by, registration_number, signup_multiplier,
                         is_returning, language, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13))",
      id, registration.email, email_key(registration.email), registration.username,
      folded(registration.username), registration.password_hash, new_referral_code(), referred_by,
      number, multiplier(number, bonus), is_returning(tx, registration.email, keys.data),
      to_string(registration.language), tx.now());
  ledger::open_account(tx, ledger::user_account(id));
  if (referred_by)
    tx.execute(
        R"(
        UPDATE users
        SET direct_referrals = direct_referrals + 1
        WHERE id = $1)",
        *referred_by);
  if (registration.may_be_admin && number == 1) {
    give_admin_role(tx, id, AdminRole::admin, "first-account-admin");
  }
  const User user = *find(tx, id);
  send_verification(tx, user, keys, base_url, registration.next);
  return user;
}

User become_account(db::Tx& tx, const std::string& guest_id, const Registration& registration,
                    const SignupBonus& bonus, const Keys& keys, const std::string& base_url) {
  tx.require_serializable();
  const auto app_id = guests::app_of(tx, guest_id);
  if (!app_id) throw Error(Code::invalid_state, "this account isn't a guest's, or no longer one");
  check_not_taken(tx, registration);
  take_up(tx, "username", NameKind::user, registration.username, "");
  const std::int64_t number = next_registration_number(tx);
  tx.require_change(
      R"(
      UPDATE users
      SET email = $2, email_key = $3, username = $4, username_key = $5, password_hash = $6,
          referral_code = $7, registration_number = $8, signup_multiplier = $9,
          is_returning = $10, language = $11, guest_of = NULL, guest_due_at = NULL,
          updated_at = $12
      WHERE id = $1 AND guest_of IS NOT NULL AND deleted_at IS NULL)",
      guest_id, registration.email, email_key(registration.email), registration.username,
      folded(registration.username), registration.password_hash, new_referral_code(), number,
      multiplier(number, bonus), is_returning(tx, registration.email, keys.data),
      to_string(registration.language), tx.now());
  guests::count_left(tx, *app_id);
  ledger::open_account(tx, ledger::user_account(guest_id));
  const User user = *find(tx, guest_id);
  send_verification(tx, user, keys, base_url, registration.next);
  return user;
}

std::optional<User> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_users + R"(
      WHERE u.id = $1 AND u.deleted_at IS NULL)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(user_of(rows)) : std::nullopt;
}

User rename(db::Tx& tx, const std::string& id, const std::string& username,
            const ReservedNames& reserved) {
  tx.require_serializable();
  check_username(username);
  const auto user = find(tx, id);
  if (!user) throw Error(Code::user_not_found, "there is no such user");
  if (folded(username) != folded(user->username)) check_not_reserved(username, reserved);
  if (tx.number(R"(SELECT count(*) FROM users WHERE username_key = $1 AND id <> $2)",
                folded(username), id) > 0)
    throw invalid_field("username", "has already been taken");
  if (folded(username) != folded(user->username)) {
    take_up(tx, "username", NameKind::user, username, id);
    give_up(tx, NameKind::user, user->username, id);
  }
  tx.execute(
      R"(
      UPDATE users
      SET username = $2, username_key = $3, updated_at = $4
      WHERE id = $1)",
      id, username, folded(username), tx.now());
  return *find(tx, id);
}

std::optional<Instant> updated_at(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(SELECT updated_at FROM users WHERE id = $1)", id);
  return rows.next() ? std::optional(rows.instant("updated_at")) : std::nullopt;
}

Stats stats(db::Tx& tx, const std::string& id) {
  const ledger::Totals points = ledger::totals(tx, ledger::user_account(id));
  return {.direct_referrals = tx.number(R"(SELECT direct_referrals FROM users WHERE id = $1)", id),
          .connected_apps = tx.number(R"(SELECT apps FROM user_apps WHERE user_id = $1)", id),
          .total_earned = points.credited,
          .total_spent = points.debited};
}

std::string verify_email(db::Tx& tx, const std::string& token, const SignupBonus& bonus) {
  std::string user_id = take_email_token(tx, token, EmailPurpose::verify_email);
  mark_verified(tx, user_id, bonus);
  return user_id;
}

void mark_verified(db::Tx& tx, const std::string& user_id, const SignupBonus& bonus) {
  const int changed = tx.execute(
      R"(
      UPDATE users
      SET email_verified_at = $2, updated_at = $2
      WHERE id = $1 AND email_verified_at IS NULL AND deleted_at IS NULL AND guest_of IS NULL)",
      user_id, tx.now());
  if (changed == 1) pay_signup_bonus(tx, *find(tx, user_id), bonus);
}

void resend_verification(db::Tx& tx, const User& user, const Keys& keys,
                         const std::string& base_url, const std::string& next) {
  tx.require_serializable();
  if (user.email_verified) throw Error(Code::invalid_state, "the address is already verified");
  if (mails_of_last_hour(tx, user.id, EmailPurpose::verify_email) >=
      max_verification_mails_per_hour) {
    Error refusal(Code::rate_limited, "too many mails were sent; look into your mailbox, or wait");
    refusal.retry_after = until_one_mail_less(tx, user.id, EmailPurpose::verify_email);
    throw refusal;
  }
  send_verification(tx, user, keys, base_url, next);
}

std::optional<Credentials> credentials(db::Tx& tx, std::string_view email) {
  // A deleted account's email_key is made from its id, which others may know.
  auto rows = tx.query(
      R"(
      SELECT id, password_hash
      FROM users
      WHERE email_key = $1 AND deleted_at IS NULL AND guest_of IS NULL)",
      email_key(email));
  if (!rows.next()) return std::nullopt;
  return Credentials{.user_id = rows.text("id"), .password_hash = rows.text("password_hash")};
}

}  // namespace berth::accounts
