#include "controller/domain/oauth/personal_tokens.h"

#include <algorithm>
#include <cstdint>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/account_mail.h"

namespace berth::personal_tokens {

using messages::say;

namespace {

constexpr std::string_view base62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr Duration made_counted_for = std::chrono::hours(24);
constexpr int warned_at_once = 20;  // so that other writers aren't held up

// The CRC-32 of zlib, gzip and PNG (ISO/IEC 3309): the reversed polynomial 0xEDB88320.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// Bytes from 248 on are dropped, so that each character is as likely as the others.
std::string random_base62(size_t length) {
  constexpr size_t even = 256 / base62.size() * base62.size();
  std::string text;
  while (text.size() < length)
    for (const char byte : random_bytes(length - text.size()))
      if (const size_t value = static_cast<unsigned char>(byte); value < even)
        text += base62[value % base62.size()];
  return text;
}

Token token_of(const db::Query& row) {
  return {.id = row.text("id"),
          .user_id = row.text("user_id"),
          .name = row.text("name"),
          .scopes = stored_scopes(row.text("scopes")),
          .app_id = row.text_or_null("app_id"),
          .deployment_id = row.text_or_null("deployment_id"),
          .hint = row.text("hint"),
          .inserted_at = row.instant("inserted_at"),
          .expires_at = row.instant("expires_at"),
          .last_used_at = row.instant_or_null("last_used_at"),
          .last_used_from = row.text_or_null("last_used_from")};
}

void check_wanted(const Wanted& wanted) {
  const std::string& name = wanted.name;
  if (name.empty() || characters(name) > max_name_length)
    throw invalid_field("name",
                        "must have 1 to " + std::to_string(max_name_length) + " characters");
  if (const auto refusal = refusal_of_text(name, Lines::one))
    throw invalid_field("name", std::string(*refusal));
  if (wanted.scopes.empty()) throw invalid_field("scopes", "must have known scopes, at least one");
  if (const ScopeSet moving = wanted.scopes - possible_scopes(); !moving.empty())
    throw invalid_field("scopes", "can't have " + moving.text() +
                                      ": a personal token doesn't move a user's points");
  if (wanted.scopes.has(Scope::admin) && wanted.app_id)
    throw invalid_field("scopes", "can't have admin, which is for no app, beside an app");
  if (wanted.lifetime < std::chrono::days(1) || wanted.lifetime > longest_lifetime)
    throw invalid_field("expires_in_days", "must be from 1 to 365");
}

void check_room(db::Tx& tx, const std::string& user_id) {
  if (tx.number(R"(
      SELECT count(*)
      FROM personal_tokens
      WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2)",
                user_id, tx.now()) >= max_living)
    throw Error(Code::invalid_state, "an account may have at most " + std::to_string(max_living) +
                                         " personal access tokens; revoke one that nothing uses");
  if (tx.number(R"(
      SELECT count(*)
      FROM personal_tokens
      WHERE user_id = $1 AND inserted_at > $2)",
                user_id, tx.now() - made_counted_for) >= max_made_per_day)
    throw Error(Code::invalid_state, "an account may make at most " +
                                         std::to_string(max_made_per_day) +
                                         " personal access tokens within 24 hours");
}

// Returns the lines of a letter that say which token it is about.
std::string in_words(const std::string& name, const std::string& hint, Language in) {
  return "  " + say(in, "name: {name}", {{"name", name}}) + "\n  " +
         say(in, "it ends in: {hint}", {{"hint", hint}}) + "\n";
}

std::string where_to_revoke(const std::string& base_url, Language in) {
  return say(in, "You can revoke it at {link} or with `berth tokens revoke`.",
             {{"link", base_url + "/console/account"}}) +
         "\n";
}

void tell_of_new(db::Tx& tx, const accounts::User& user, const Token& token, const Keys& keys,
                 const std::string& base_url) {
  const Language in = user.language;
  const std::string details =
      in_words(token.name, token.hint, in) + "  " +
      say(in, "scopes: {scopes}", {{"scopes", token.scopes.text()}}) + "\n  " +
      say(in, "works until: {time}", {{"time", to_iso8601(token.expires_at)}}) + "\n\n" +
      where_to_revoke(base_url, in);
  accounts::send(tx, user, keys,
                 accounts::notice_letter(user, say(in, "a personal access token was made"),
                                         base_url, details));
}

outbox::Letter warning_letter(const accounts::User& user, const Token& token,
                              const std::string& base_url) {
  const Language in = user.language;
  return {.to = user.email,
          .subject = say(in, "A personal access token of yours will expire"),
          .body = accounts::greeting(user) +
                  say(in, "a personal access token of yours works until {time}, and no longer.",
                      {{"time", to_iso8601(token.expires_at)}}) +
                  "\n\n" + in_words(token.name, token.hint, in) + "\n" +
                  say(in, "If something still uses it, make another one at {link}",
                      {{"link", base_url + "/console/account"}}) +
                  "\n"};
}

constexpr std::string_view find_by_hash = R"(
      SELECT t.id, t.user_id, t.name, t.scopes, t.app_id, t.deployment_id, t.hint, t.inserted_at,
             t.expires_at, t.last_used_at, t.last_used_from, t.revoked_at, u.suspended_at
      FROM personal_tokens t
      JOIN users u ON u.id = t.user_id
      WHERE t.token_hash = $1)";

// Throws what is wrong with the token of the row.
void check_row(const db::Query& row, Instant now) {
  // A suspension also ends tokens, but it is what the bearer should be told.
  if (!row.null("suspended_at")) throw Error(Code::account_suspended, "the account is suspended");
  if (!row.null("revoked_at"))
    throw Error(Code::token_revoked, "the personal access token was revoked");
  if (row.instant("expires_at") <= now)
    throw Error(Code::token_expired, "the personal access token has expired; make another one");
}

}  // namespace

const ScopeSet& possible_scopes() {
  static const ScopeSet scopes = [] {
    ScopeSet all;
    for (const ScopeInfo& scope : all_scopes()) all.add(scope.scope);
    all.add(Scope::admin);
    return all - ScopeSet{Scope::points_spend, Scope::points_transfer, Scope::points_award};
  }();
  return scopes;
}

std::string checksum_of(std::string_view random) {
  std::string digits(checksum_length, base62[0]);
  size_t rest = crc32(random);  // less than 62^6
  for (size_t i = checksum_length; i-- > 0; rest /= base62.size())
    digits[i] = base62[rest % base62.size()];
  return digits;
}

bool is_well_formed(std::string_view token) {
  if (!token.starts_with(prefix) || token.size() != prefix.size() + random_length + checksum_length)
    return false;
  const std::string_view random = token.substr(prefix.size(), random_length);
  return token.find_first_not_of(base62, prefix.size()) == std::string_view::npos &&
         token.substr(prefix.size() + random_length) == checksum_of(random);
}

Made make(db::Tx& tx, const accounts::User& user, const Wanted& wanted, const Keys& keys,
          const std::string& base_url) {
  tx.require_serializable();
  if (!user.email_verified)
    throw Error(Code::email_not_verified,
                "verify your email address before you make a personal access token");
  Wanted composed_name = wanted;
  composed_name.name = composed(wanted.name);
  check_wanted(composed_name);
  check_room(tx, user.id);
  const std::string random = random_base62(random_length);
  Made made = {.secret = std::string(prefix) + random + checksum_of(random), .token = {}};
  made.token = {.id = new_uuid(tx.now()),
                .user_id = user.id,
                .name = composed_name.name,
                .scopes = wanted.scopes,
                .app_id = wanted.app_id,
                .deployment_id = wanted.deployment_id,
                .hint = made.secret.substr(made.secret.size() - hint_length),
                .inserted_at = tx.now(),
                .expires_at = tx.now() + wanted.lifetime};
  const Token& token = made.token;
  const auto warn_at = wanted.lifetime > warned_before
                           ? std::optional(token.expires_at - warned_before)
                           : std::nullopt;
  tx.execute(R"(
      INSERT INTO personal_tokens (id, token_hash, user_id, name, scopes, app_id, deployment_id,
                                   hint, inserted_at, expires_at, warn_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11))",
             token.id, token_hash(made.secret), token.user_id, token.name, token.scopes.text(),
             token.app_id, token.deployment_id, token.hint, token.inserted_at, token.expires_at,
             warn_at);
  tell_of_new(tx, user, token, keys, base_url);
  return made;
}

std::vector<Token> list(db::Tx& tx, const std::string& user_id) {
  std::vector<Token> found;
  auto rows = tx.query(R"(
      SELECT id, user_id, name, scopes, app_id, deployment_id, hint, inserted_at, expires_at,
             last_used_at, last_used_from
      FROM personal_tokens
      WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
      ORDER BY inserted_at DESC, id DESC)",
                       user_id, tx.now());
  while (rows.next()) found.push_back(token_of(rows));
  return found;
}

void revoke(db::Tx& tx, const std::string& user_id, const std::string& id) {
  if (tx.execute(R"(
      UPDATE personal_tokens
      SET revoked_at = $3, warn_at = NULL
      WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL AND expires_at > $3)",
                 id, user_id, tx.now()) == 0)
    throw Error(Code::not_found, "there is no such personal access token, or it has ended");
}

Token check(db::Tx& tx, const std::string& secret) {
  if (!is_well_formed(secret))
    throw Error(Code::invalid_token,
                "the personal access token is mistyped or cut off: its checksum is wrong");
  auto rows = tx.query(find_by_hash, token_hash(secret));
  if (!rows.next()) throw Error(Code::invalid_token, "the personal access token is unknown");
  try {
    check_row(rows, tx.now());
  } catch (Error& refusal) {
    refusal.event = {.kind = SecurityKind::token_rejected,
                     .reason = berth::name(refusal.code),
                     .user_id = rows.text("user_id")};
    throw;
  }
  return token_of(rows);
}

bool is_living(db::Tx& tx, const std::string& secret) {
  return is_well_formed(secret) && tx.number(R"(
      SELECT count(*)
      FROM personal_tokens
      WHERE token_hash = $1 AND revoked_at IS NULL AND expires_at > $2)",
                                             token_hash(secret), tx.now()) > 0;
}

std::optional<Ended> end(db::Tx& tx, const std::string& secret) {
  if (!is_well_formed(secret)) return std::nullopt;
  auto rows = tx.query(find_by_hash, token_hash(secret));
  if (!rows.next()) return std::nullopt;
  const Token token = token_of(rows);
  if (tx.execute(R"(
      UPDATE personal_tokens
      SET revoked_at = $2, warn_at = NULL
      WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2)",
                 token.id, tx.now()) == 0)
    return std::nullopt;
  return Ended{.id = token.id, .user_id = token.user_id, .name = token.name};
}

std::vector<std::string> end_all(db::Tx& tx, const std::string& user_id, int most_named) {
  std::vector<std::string> names;
  {
    auto rows = tx.query(R"(
      SELECT name
      FROM personal_tokens
      WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
      ORDER BY inserted_at DESC, id DESC
      LIMIT $3)",
                         user_id, tx.now(), most_named + 1);
    while (rows.next()) names.push_back(rows.text("name"));
  }
  tx.execute(R"(
      UPDATE personal_tokens
      SET revoked_at = $2, warn_at = NULL
      WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2)",
             user_id, tx.now());
  return names;
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM personal_tokens WHERE user_id = $1)", user_id);
}

bool is_any_to_warn(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM personal_tokens WHERE warn_at <= $1 LIMIT 1)", tx.now()) > 0;
}

int warn_some(db::Tx& tx, const Keys& keys, const std::string& base_url, int limit) {
  std::vector<Token> ending;
  {
    auto rows = tx.query(R"(
      SELECT id, user_id, name, scopes, app_id, deployment_id, hint, inserted_at, expires_at,
             last_used_at, last_used_from
      FROM personal_tokens
      WHERE warn_at <= $1
      ORDER BY warn_at
      LIMIT $2)",
                         tx.now(), limit);
    while (rows.next()) ending.push_back(token_of(rows));
  }
  for (const Token& token : ending) {
    tx.require_change(R"(
      UPDATE personal_tokens
      SET warn_at = NULL
      WHERE id = $1 AND warn_at IS NOT NULL)",
                      token.id);
    const auto user = accounts::find(tx, token.user_id);
    // Where berthd didn't run for a week, the token may have expired in the meantime.
    if (user && token.expires_at > tx.now())
      accounts::send(tx, *user, keys, warning_letter(*user, token, base_url));
  }
  return int(ending.size());
}

Loop warning_loop(const Keys& keys, const std::string& base_url) {
  return {.name = "token warnings",
          .interval = std::chrono::hours(1),
          .lease = "token warnings",
          .round =
              [&keys, base_url](Round& round) {
                round.repeat(is_any_to_warn, [&](db::Tx& tx) {
                  return warn_some(tx, keys, base_url, warned_at_once);
                });
              },
          .failure = "users couldn't be told that their tokens expire soon; trying again"};
}

bool is_any_old(db::Tx& tx) {
  const Instant before = tx.now() - ended_kept_for;
  return tx.number(R"(SELECT 1 FROM personal_tokens WHERE expires_at <= $1 LIMIT 1)", before) > 0 ||
         tx.number(R"(SELECT 1 FROM personal_tokens WHERE revoked_at <= $1 LIMIT 1)", before) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const Instant before = tx.now() - ended_kept_for;
  int removed = tx.execute(R"(
      DELETE FROM personal_tokens
      WHERE id IN (SELECT id FROM personal_tokens WHERE expires_at <= $1 LIMIT $2))",
                           before, limit);
  if (removed < limit)
    removed += tx.execute(R"(
      DELETE FROM personal_tokens
      WHERE id IN (SELECT id FROM personal_tokens WHERE revoked_at <= $1 LIMIT $2))",
                          before, limit - removed);
  return removed;
}

}  // namespace berth::personal_tokens
