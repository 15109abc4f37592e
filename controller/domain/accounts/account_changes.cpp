#include "controller/domain/accounts/account_changes.h"

#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/given_up_names.h"

namespace berth::accounts {

void set_tier(db::Tx& tx, const std::string& user_id, const std::string& tier) {
  tx.execute(R"(UPDATE users SET tier = $2, updated_at = $3 WHERE id = $1)", user_id, tier,
             tx.now());
}

void set_admin_role(db::Tx& tx, const std::string& user_id, std::optional<AdminRole> role) {
  tx.execute(
      R"(
      UPDATE users
      SET is_admin = $2, admin_role = $3, updated_at = $4
      WHERE id = $1)",
      user_id, role.has_value(), to_string(role), tx.now());
}

void set_email(db::Tx& tx, const std::string& user_id, const std::string& email) {
  tx.execute(
      R"(
      UPDATE users
      SET email = $2, email_key = $3, updated_at = $4
      WHERE id = $1)",
      user_id, email, email_key(email), tx.now());
}

void set_returning(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(UPDATE users SET is_returning = 1 WHERE id = $1)", user_id);
}

void set_language(db::Tx& tx, const std::string& user_id, Language language) {
  tx.execute(R"(
      UPDATE users
      SET language = $2, updated_at = $3
      WHERE id = $1 AND language <> $2)",
             user_id, to_string(language), tx.now());
}

void set_suspended(db::Tx& tx, const std::string& user_id, bool suspended) {
  tx.execute(R"(UPDATE users SET suspended_at = $2, updated_at = $3 WHERE id = $1)", user_id,
             suspended ? std::optional(tx.now()) : std::nullopt, tx.now());
}

std::string password_hash_of(db::Tx& tx, const std::string& user_id) {
  auto rows = tx.query(
      R"(
      SELECT password_hash
      FROM users
      WHERE id = $1 AND deleted_at IS NULL)",
      user_id);
  return rows.next() ? rows.text("password_hash") : std::string();
}

void set_password_hash(db::Tx& tx, const std::string& user_id, const std::string& hash) {
  tx.execute(R"(UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1)", user_id, hash,
             tx.now());
}

bool replace_password_hash(db::Tx& tx, const std::string& user_id, const std::string& old_hash,
                           const std::string& new_hash) {
  return tx.execute(
             R"(
      UPDATE users
      SET password_hash = $3, updated_at = $4
      WHERE id = $1 AND password_hash = $2 AND deleted_at IS NULL)",
             user_id, old_hash, new_hash, tx.now()) == 1;
}

void lock(db::Tx& tx, const std::string& user_id) {
  tx.lock(R"(UPDATE users SET updated_at = updated_at WHERE id = $1)", user_id);
}

void mark_deleted(db::Tx& tx, const std::string& user_id) {
  tx.require_serializable();
  const auto user = find(tx, user_id);
  if (user && !user->is_guest) give_up(tx, NameKind::user, user->username, user_id);
  forget_who_gave_up(tx, user_id);
  email_changes::forget(tx, user_id);
  tx.execute(R"(DELETE FROM email_tokens WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM login_networks WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM sessions WHERE user_id = $1)", user_id);
  tx.execute(
      R"(
      UPDATE users
      SET direct_referrals = direct_referrals - 1
      WHERE id = (SELECT referred_by FROM users WHERE id = $1))",
      user_id);
  tx.require_change(
      R"(
      UPDATE users
      SET email = '', email_key = 'deleted:' || id, username = 'deleted',
          username_key = 'deleted:' || id, password_hash = '', referral_code = 'deleted:' || id,
          referred_by = NULL, language = 'en', email_verified_at = NULL, is_admin = 0,
          admin_role = NULL,
          suspended_at = $2, deleted_at = $2, updated_at = $2
      WHERE id = $1 AND deleted_at IS NULL)",
      user_id, tx.now());
}

}  // namespace berth::accounts
