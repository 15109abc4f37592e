#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/webauthn.h"
#include "controller/domain/kernel/keys.h"

// Passkeys: keys that a user's device keeps and uses only once it knows that it is them. A passkey
// logs its user in without a name or a password, and proves the second factor. What browsers say is
// checked in webauthn.h.
namespace berth::passkeys {

inline constexpr int max_per_account = 20;
inline constexpr std::size_t max_name_length = 64;  // code points
// How long a user may take to answer the browser's question.
inline constexpr std::chrono::minutes challenge_lifetime{5};

struct Passkey {
  std::string id;
  std::string user_id;
  std::string credential_id;  // in base64url
  std::string name;
  bool synced = false;  // the user's devices share it, so that losing one doesn't lose it
  Instant created_at;
  std::optional<Instant> last_used_at;
};

// What the answer has to sign. Nothing is stored, so that strangers who ask for any number of
// challenges cost no more than that: `state` has the challenge and its end, encrypted for
// `bound_to`, and comes back with the answer. `bound_to` names the browser or the session that
// asks.
enum class Purpose { creation, assertion };
struct Challenge {
  std::string bytes;
  std::string state;
};
Challenge new_challenge(Purpose purpose, const std::string& bound_to, Instant now,
                        const Keys& keys);

// Returns the user's passkeys, oldest first: at most max_per_account.
std::vector<Passkey> list(db::Tx& tx, const std::string& user_id);
// Throws invalid_state if the user has max_per_account of them.
void require_room(db::Tx& tx, const std::string& user_id);

struct NewPasskey {
  std::string name;
  std::string state;
  std::string bound_to;
  webauthn::Creation answer;
};
// Stores a passkey and tells the user by mail. The caller has asked for a proof (sign_in.h). Throws
// validation_failed if the answer isn't right, its challenge is too old or was used, the name may
// not be shown, or the passkey is already stored; and invalid_state as require_room() does.
Passkey add(db::Tx& tx, const accounts::User& user, const webauthn::RelyingParty& party,
            const NewPasskey& wanted, const Keys& keys, const std::string& base_url);

// Throw passkey_not_found if the user has no such passkey.
Passkey rename(db::Tx& tx, const std::string& user_id, const std::string& id,
               const std::string& name);
// Removes a passkey and tells the user by mail. Throws invalid_state if it is the account's only
// second factor, unless `last` says that the caller knows it.
enum class Last { refused, confirmed };
void remove(db::Tx& tx, const accounts::User& user, const std::string& id, Last last,
            const Keys& keys, const std::string& base_url);
// Removes all of the user's passkeys without a letter.
void forget(db::Tx& tx, const std::string& user_id);

// Why a passkey's answer is refused: a sentence without its full stop, the reason for the security
// log, and whose passkey it is; empty if nobody's.
struct Refusal {
  std::string_view why;
  std::string_view reason;
  std::string user_id = {};
};
struct Answer {
  std::string state;
  std::string bound_to;
  std::string credential_id;  // bytes
  std::string user_handle;    // bytes; empty if the browser gave none
  webauthn::Assertion assertion;
};
struct Verified {
  Passkey passkey;
  webauthn::Use use;
  std::string challenge_hash;
  Instant challenge_expires_at;
};
// Checks the answer, and changes nothing. `user_id` is whose passkey it has to be; if empty,
// anybody's, and the answer has to name the user.
std::expected<Verified, Refusal> verify(db::Tx& tx, const webauthn::RelyingParty& party,
                                        const Answer& answer, const std::string& user_id,
                                        const Keys& keys);
// Uses the challenge up and records the use. Refuses what another request has used meanwhile, and a
// passkey whose sign count doesn't go up, because somebody may have copied it (WebAuthn Level 3,
// section 6.1.1).
std::expected<void, Refusal> use(db::Tx& tx, const Verified& verified);

}  // namespace berth::passkeys
