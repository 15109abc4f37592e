#include "controller/domain/accounts/two_factor.h"

#include <liboath/oath.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/passkeys.h"

namespace berth::two_factor {
namespace {

constexpr size_t secret_bytes = 20;  // 160 bits (RFC 4226, section 4, requirement R6)
constexpr size_t digits = 6;
constexpr size_t recovery_code_length = 10;  // from an alphabet of 32 characters, so 50 bits
// Letters and digits that look alike are left out, because people type these codes from paper.
constexpr std::string_view recovery_alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

void check(int result, const char* what) {
  if (result < 0)
    throw std::runtime_error(std::string("liboath: ") + what + ": " + oath_strerror_name(result));
}

void initialize() {
  static const bool done = [] {
    check(oath_init(), "oath_init");
    return true;
  }();
  static_cast<void>(done);
}

std::string base32(const std::string& bytes) {
  char* text = nullptr;
  size_t length = 0;
  check(oath_base32_encode(bytes.data(), bytes.size(), &text, &length), "oath_base32_encode");
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return {text, length};
}

Setup describe(const accounts::User& user, const std::string& secret) {
  const std::string text = base32(secret);
  return {.secret = text,
          .uri = "otpauth://totp/berth:" + percent_encode(user.email) + "?secret=" + text +
                 "&issuer=berth&algorithm=SHA1&digits=6&period=30"};
}

std::string context_of(const std::string& user_id) { return "totp:" + user_id; }

struct Stored {
  std::string secret;
  std::int64_t last_step = 0;
};
std::optional<Stored> stored(db::Tx& tx, const std::string& user_id, const Keys& keys) {
  auto rows = tx.query(
      R"(
      SELECT sealed_secret, last_step
      FROM totp_secrets
      WHERE user_id = $1)",
      user_id);
  if (!rows.next()) return std::nullopt;
  const auto sealed = parse_base64(rows.text("sealed_secret"));
  auto secret = sealed ? open_sealed(keys.data, *sealed, context_of(user_id)) : std::nullopt;
  if (!secret) throw std::runtime_error("a TOTP secret can't be decrypted with this data key");
  return Stored{.secret = std::move(*secret), .last_step = rows.integer("last_step")};
}

std::string typed(const std::string& code) {
  std::string result;
  for (const char c : code)
    if (c != ' ' && c != '-') result += char(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

bool take_totp(db::Tx& tx, const std::string& user_id, const std::string& code, const Keys& keys) {
  const bool plausible = code.size() == digits && std::ranges::all_of(code, [](unsigned char c) {
                           return std::isdigit(c) != 0;
                         });
  const auto totp = plausible ? stored(tx, user_id, keys) : std::nullopt;
  if (!totp) return false;
  initialize();
  std::uint64_t step = 0;
  const int result = oath_totp_validate3(
      totp->secret.data(), totp->secret.size(), to_millis(tx.now()) / 1000, step_seconds,
      OATH_TOTP_DEFAULT_START_TIME, window_steps, nullptr, &step, code.c_str());
  if (result == OATH_INVALID_OTP) return false;
  check(result, "oath_totp_validate3");
  // A code works once, and no code works that is older than one that did (RFC 6238, section 5.2).
  return tx.execute(
             R"(
      UPDATE totp_secrets
      SET last_step = $2
      WHERE user_id = $1 AND last_step < $2)",
             user_id, std::int64_t(step)) == 1;
}

std::string recovery_hash(const std::string& user_id, const std::string& code, const Keys& keys) {
  return hex(hmac_sha256(keys.data, "recovery code:" + user_id + ":" + code));
}

std::vector<std::string> replace_recovery_codes(db::Tx& tx, const std::string& user_id,
                                                const Keys& keys) {
  tx.execute(R"(DELETE FROM recovery_codes WHERE user_id = $1)", user_id);
  std::vector<std::string> codes;
  for (int i = 0; i < recovery_code_count; ++i) {
    std::string code = random_bytes(recovery_code_length);
    for (char& c : code)
      c = recovery_alphabet[static_cast<unsigned char>(c) % recovery_alphabet.size()];
    tx.execute(R"(INSERT INTO recovery_codes (user_id, code_hash) VALUES ($1, $2))", user_id,
               recovery_hash(user_id, code, keys));
    codes.push_back(code.insert(recovery_code_length / 2, "-"));
  }
  return codes;
}

// Reads the state in this transaction, because the caller's User may be out of date.
bool is_enabled(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(SELECT count(*) FROM users WHERE id = $1 AND totp_enabled_at IS NOT NULL)",
                   user_id) != 0;
}
void require_enabled(db::Tx& tx, const accounts::User& user) {
  if (!is_enabled(tx, user.id)) throw Error(Code::invalid_state, "TOTP isn't enabled");
}
void require_disabled(db::Tx& tx, const accounts::User& user) {
  if (is_enabled(tx, user.id)) throw Error(Code::invalid_state, "TOTP is already enabled");
}

void forget_totp(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM totp_secrets WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM recovery_codes WHERE user_id = $1)", user_id);
  tx.execute(
      R"(
      UPDATE users
      SET totp_enabled_at = NULL, updated_at = $2
      WHERE id = $1)",
      user_id, tx.now());
}

Error wrong_code() { return Error(Code::invalid_totp, "the code is wrong or was used before"); }

}  // namespace

Setup set_up(db::Tx& tx, const accounts::User& user, const Keys& keys) {
  tx.require_serializable();
  require_disabled(tx, user);
  initialize();
  const std::string secret = random_bytes(secret_bytes);
  tx.execute(
      R"(
      INSERT INTO totp_secrets (user_id, sealed_secret, created_at)
      VALUES ($1, $2, $3)
      ON CONFLICT (user_id) DO UPDATE
        SET sealed_secret = excluded.sealed_secret,
            last_step = 0,
            created_at = excluded.created_at)",
      user.id, base64(seal(keys.data, secret, context_of(user.id))), tx.now());
  return describe(user, secret);
}

Setup pending(db::Tx& tx, const accounts::User& user, const Keys& keys) {
  require_disabled(tx, user);
  const auto totp = stored(tx, user.id, keys);
  if (!totp) throw Error(Code::invalid_state, "TOTP setup hasn't been started");
  return describe(user, totp->secret);
}

std::vector<std::string> enable(db::Tx& tx, const accounts::User& user, const std::string& code,
                                const Keys& keys, const std::string& base_url) {
  tx.require_serializable();
  require_disabled(tx, user);
  if (!stored(tx, user.id, keys))
    throw Error(Code::invalid_state, "TOTP setup hasn't been started");
  if (!take_totp(tx, user.id, typed(code), keys)) throw wrong_code();
  tx.require_change(R"(
      UPDATE users
      SET totp_enabled_at = $2, updated_at = $2
      WHERE id = $1 AND totp_enabled_at IS NULL)",
                    user.id, tx.now());
  accounts::send(
      tx, user, keys,
      accounts::notice_letter(
          user, messages::say(user.language, "logging in now requires a second factor"), base_url));
  return replace_recovery_codes(tx, user.id, keys);
}

void disable(db::Tx& tx, const accounts::User& user, const std::string& code, const Keys& keys,
             const std::string& base_url) {
  require_enabled(tx, user);
  if (!take_code(tx, user.id, code, keys)) throw wrong_code();
  forget_totp(tx, user.id);
  accounts::send(
      tx, user, keys,
      accounts::notice_letter(
          user, messages::say(user.language, "logging in no longer requires a second factor"),
          base_url));
}

std::vector<std::string> new_recovery_codes(db::Tx& tx, const accounts::User& user,
                                            const Keys& keys, const std::string& base_url) {
  tx.require_serializable();
  require_enabled(tx, user);
  outbox::put(tx, keys.data,
              accounts::notice_letter(
                  user,
                  messages::say(user.language,
                                "new recovery codes were created, and the old ones no longer work"),
                  base_url));
  return replace_recovery_codes(tx, user.id, keys);
}

int recovery_codes_left(db::Tx& tx, const std::string& user_id) {
  return int(tx.number(R"(SELECT count(*) FROM recovery_codes WHERE user_id = $1)", user_id));
}

bool take_code(db::Tx& tx, const std::string& user_id, const std::string& code, const Keys& keys) {
  const std::string plain = typed(code);
  if (take_totp(tx, user_id, plain, keys)) return true;
  return plain.size() == recovery_code_length &&
         tx.execute(R"(DELETE FROM recovery_codes WHERE user_id = $1 AND code_hash = $2)", user_id,
                    recovery_hash(user_id, plain, keys)) == 1;
}

void forget(db::Tx& tx, const std::string& user_id) {
  forget_totp(tx, user_id);
  passkeys::forget(tx, user_id);
}

void forget_if_newer(db::Tx& tx, const std::string& user_id, Instant since) {
  const bool had_one = tx.number(R"(
                           SELECT (SELECT count(*) FROM users WHERE id = $1 AND totp_enabled_at < $2)
                                + (SELECT count(*)
                                   FROM passkeys
                                   WHERE user_id = $1 AND created_at < $2))",
                                 user_id, since) > 0;
  if (!had_one) forget(tx, user_id);
}

}  // namespace berth::two_factor
