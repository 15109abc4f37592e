#include "controller/domain/accounts/passkeys.h"

#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/account_mail.h"

namespace berth::passkeys {

using messages::say;

namespace {

constexpr webauthn::Wrong too_late = "that took too long; start again";
constexpr webauthn::Wrong used_before = "this answer of the passkey was used before";
constexpr webauthn::Wrong unknown = "this passkey isn't known here";
constexpr webauthn::Wrong registered = "this passkey is registered already";
constexpr webauthn::Wrong cloned = "the passkey may have been copied; use another way to log in";

std::string context_of(Purpose purpose, const std::string& bound_to) {
  return (purpose == Purpose::creation ? "new passkey:" : "passkey:") + bound_to;
}

struct Opened {
  std::string bytes;
  std::string hash;
  Instant expires_at;
};
// Returns nothing if the challenge isn't berth's, is for another purpose or browser, or is too old.
std::optional<Opened> open_challenge(Purpose purpose, const std::string& state,
                                     const std::string& bound_to, Instant now, const Keys& keys) {
  const auto sealed = parse_base64(state);
  const auto text =
      sealed ? open_sealed(keys.data, *sealed, context_of(purpose, bound_to)) : std::nullopt;
  if (!text) return std::nullopt;
  const auto content = nlohmann::json::parse(*text);
  const Instant until = from_millis(content.at("until").get<std::int64_t>());
  if (until <= now) return std::nullopt;
  std::string bytes = parse_base64url(content.at("challenge").get<std::string>()).value();
  std::string hash = token_hash(bytes);
  return Opened{.bytes = std::move(bytes), .hash = std::move(hash), .expires_at = until};
}

// Returns false if the challenge was used before. A row is removed once the challenge has expired.
bool use_up(db::Tx& tx, const std::string& challenge_hash, Instant expires_at) {
  return tx.execute(
             R"(
      INSERT INTO used_passkey_challenges (challenge_hash, expires_at)
      VALUES ($1, $2)
      ON CONFLICT (challenge_hash) DO NOTHING)",
             challenge_hash, expires_at) == 1;
}

Passkey passkey_of(const db::Query& row) {
  return {.id = row.text("id"),
          .user_id = row.text("user_id"),
          .credential_id = row.text("credential_id"),
          .name = row.text("name"),
          .synced = row.flag("synced"),
          .created_at = row.instant("created_at"),
          .last_used_at = row.instant_or_null("last_used_at")};
}

struct Stored {
  Passkey passkey;
  webauthn::Algorithm algorithm = webauthn::Algorithm::es256;
  std::string public_key;
  std::int64_t sign_count = 0;
};
std::optional<Stored> find_by_credential(db::Tx& tx, const std::string& credential_id) {
  auto rows = tx.query(R"(
      SELECT id, user_id, credential_id, algorithm, public_key, sign_count, synced, name,
             created_at, last_used_at
      FROM passkeys
      WHERE credential_id = $1)",
                       base64url(credential_id));
  if (!rows.next()) return std::nullopt;
  return Stored{.passkey = passkey_of(rows),
                .algorithm = webauthn::algorithm_of(rows.integer("algorithm")).value(),
                .public_key = parse_base64(rows.text("public_key")).value(),
                .sign_count = rows.integer("sign_count")};
}

Passkey get(db::Tx& tx, const std::string& user_id, const std::string& id) {
  auto rows = tx.query(R"(
      SELECT id, user_id, credential_id, synced, name, created_at, last_used_at
      FROM passkeys
      WHERE id = $1 AND user_id = $2)",
                       id, user_id);
  if (!rows.next()) throw Error(Code::passkey_not_found, "there is no such passkey");
  return passkey_of(rows);
}

std::string checked_name(const std::string& name) {
  std::string formed = composed(name);
  if (is_blank(formed)) throw invalid_field("name", "can't be blank");
  if (code_points(formed).size() > max_name_length)
    throw invalid_field("name", "must have at most 64 characters");
  if (const auto refusal = refusal_of_text(formed, Lines::one))
    throw invalid_field("name", std::string(*refusal));
  return formed;
}

// A notice with the passkey's name, and where to look at the others.
outbox::Letter letter(const accounts::User& user, const std::string& what, const std::string& name,
                      const std::string& base_url) {
  const std::string details = "  " + say(user.language, "name: {name}", {{"name", name}}) + "\n\n" +
                              say(user.language, "Your passkeys are listed at {link}.",
                                  {{"link", base_url + "/account/passkeys"}}) +
                              "\n";
  return accounts::notice_letter(user, what, base_url, details);
}

}  // namespace

Challenge new_challenge(Purpose purpose, const std::string& bound_to, Instant now,
                        const Keys& keys) {
  const std::string bytes = random_bytes(webauthn::challenge_bytes);
  const nlohmann::json content = {{"challenge", base64url(bytes)},
                                  {"until", to_millis(now + challenge_lifetime)}};
  return {.bytes = bytes,
          .state = base64(seal(keys.data, content.dump(), context_of(purpose, bound_to)))};
}

std::vector<Passkey> list(db::Tx& tx, const std::string& user_id) {
  std::vector<Passkey> found;
  auto rows = tx.query(R"(
      SELECT id, user_id, credential_id, synced, name, created_at, last_used_at
      FROM passkeys
      WHERE user_id = $1
      ORDER BY created_at, id
      LIMIT $2)",
                       user_id, max_per_account);
  while (rows.next()) found.push_back(passkey_of(rows));
  return found;
}

void require_room(db::Tx& tx, const std::string& user_id) {
  if (tx.number(R"(SELECT count(*) FROM passkeys WHERE user_id = $1)", user_id) >= max_per_account)
    throw Error(Code::invalid_state, "the account has 20 passkeys; remove one first");
}

Passkey add(db::Tx& tx, const accounts::User& user, const webauthn::RelyingParty& party,
            const NewPasskey& wanted, const Keys& keys, const std::string& base_url) {
  tx.require_serializable();  // for the limit
  const std::string name = checked_name(wanted.name);
  require_room(tx, user.id);
  const auto challenge =
      open_challenge(Purpose::creation, wanted.state, wanted.bound_to, tx.now(), keys);
  if (!challenge) throw webauthn::refusal(too_late);
  const auto made = webauthn::check_creation(party, challenge->bytes, wanted.answer);
  if (!made) throw webauthn::refusal(made.error());
  if (!use_up(tx, challenge->hash, challenge->expires_at)) throw webauthn::refusal(used_before);
  // Section 7.1, step 27.
  if (find_by_credential(tx, made->id)) throw webauthn::refusal(registered);
  const Passkey passkey = {.id = new_uuid(tx.now()),
                           .user_id = user.id,
                           .credential_id = base64url(made->id),
                           .name = name,
                           .synced = made->synced,
                           .created_at = tx.now(),
                           .last_used_at = {}};
  tx.execute(
      R"(
      INSERT INTO passkeys (id, user_id, credential_id, algorithm, public_key, sign_count, synced,
                            name, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9))",
      passkey.id, passkey.user_id, passkey.credential_id, std::int64_t(made->algorithm),
      base64(made->public_key), std::int64_t(made->sign_count), passkey.synced, passkey.name,
      passkey.created_at);
  accounts::send(
      tx, user, keys,
      letter(user, say(user.language, "a passkey was added to your account"), name, base_url));
  return passkey;
}

Passkey rename(db::Tx& tx, const std::string& user_id, const std::string& id,
               const std::string& name) {
  Passkey passkey = get(tx, user_id, id);
  passkey.name = checked_name(name);
  tx.execute(R"(UPDATE passkeys SET name = $3 WHERE id = $1 AND user_id = $2)", id, user_id,
             passkey.name);
  return passkey;
}

void remove(db::Tx& tx, const accounts::User& user, const std::string& id, Last last,
            const Keys& keys, const std::string& base_url) {
  tx.require_serializable();  // two requests that each leave the other's passkey would leave none
  const Passkey passkey = get(tx, user.id, id);
  const bool has_others =
      tx.number(R"(SELECT count(*) FROM passkeys WHERE user_id = $1 AND id <> $2)", user.id, id) +
          tx.number(R"(SELECT count(*) FROM users WHERE id = $1 AND totp_enabled_at IS NOT NULL)",
                    user.id) >
      0;
  if (!has_others && last == Last::refused)
    throw Error(Code::invalid_state,
                "this passkey is the account's only second factor; confirm that it is to be "
                "removed all the same");
  tx.execute(R"(DELETE FROM passkeys WHERE id = $1 AND user_id = $2)", id, user.id);
  accounts::send(tx, user, keys,
                 letter(user, say(user.language, "a passkey was removed from your account"),
                        passkey.name, base_url));
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM passkeys WHERE user_id = $1)", user_id);
}

std::expected<Verified, Refusal> verify(db::Tx& tx, const webauthn::RelyingParty& party,
                                        const Answer& answer, const std::string& user_id,
                                        const Keys& keys) {
  const auto challenge =
      open_challenge(Purpose::assertion, answer.state, answer.bound_to, tx.now(), keys);
  if (!challenge)
    return std::unexpected(
        Refusal{.why = too_late, .reason = "old_passkey_challenge", .user_id = user_id});
  const auto stored = find_by_credential(tx, answer.credential_id);
  if (!stored || (!user_id.empty() && stored->passkey.user_id != user_id))
    return std::unexpected(
        Refusal{.why = unknown, .reason = "unknown_passkey", .user_id = user_id});
  const std::string& owner = stored->passkey.user_id;
  // Section 7.2, step 6. The user handle is the account's id.
  const bool is_named = !answer.user_handle.empty();
  if (is_named ? answer.user_handle != owner : user_id.empty())
    return std::unexpected(
        Refusal{.why = webauthn::malformed, .reason = "wrong_passkey", .user_id = owner});
  const auto use = webauthn::check_assertion(party, challenge->bytes, stored->algorithm,
                                             stored->public_key, answer.assertion);
  if (!use)
    return std::unexpected(
        Refusal{.why = use.error(), .reason = "wrong_passkey", .user_id = owner});
  return Verified{.passkey = stored->passkey,
                  .use = *use,
                  .challenge_hash = challenge->hash,
                  .challenge_expires_at = challenge->expires_at};
}

std::expected<void, Refusal> use(db::Tx& tx, const Verified& verified) {
  const std::string& owner = verified.passkey.user_id;
  if (!use_up(tx, verified.challenge_hash, verified.challenge_expires_at))
    return std::unexpected(
        Refusal{.why = used_before, .reason = "replayed_passkey", .user_id = owner});
  const std::int64_t count = verified.use.sign_count;
  const int changed = tx.execute(
      R"(
      UPDATE passkeys
      SET sign_count = $2, synced = $3, last_used_at = $4
      WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0)))",
      verified.passkey.id, count, verified.use.synced, tx.now());
  if (changed == 1) return {};
  const bool exists =
      tx.number(R"(SELECT count(*) FROM passkeys WHERE id = $1)", verified.passkey.id) > 0;
  return std::unexpected(exists
                             ? Refusal{.why = cloned, .reason = "cloned_passkey", .user_id = owner}
                             : Refusal{.why = unknown, .reason = "unknown_passkey"});
}

}  // namespace berth::passkeys
