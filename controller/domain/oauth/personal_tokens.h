#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/kernel/use_log.h"

// Personal access tokens: what users make for programs of their own, such as CI jobs. A token has
// GitHub's form, so that scanners for secrets find it and can tell it from other texts: the prefix,
// 40 random characters of base62 (238 bits), and their CRC-32 as 6 digits of base62, the most
// significant first, with 0-9, A-Z and a-z as the digits. Only its SHA-256 is stored.
namespace berth::personal_tokens {

inline constexpr std::string_view prefix = "pat_live_";
inline constexpr size_t random_length = 40;
inline constexpr size_t checksum_length = 6;
inline constexpr size_t hint_length = 4;  // how many of its last characters stay known

inline constexpr size_t max_name_length = 64;  // characters
inline constexpr int max_living = 50;          // tokens of an account that work
// Tokens that an account may make within 24 hours, ended ones included: each is a mail and a row.
inline constexpr int max_made_per_day = 50;
inline constexpr std::chrono::days usual_lifetime{90};
inline constexpr std::chrono::days longest_lifetime{365};
// How long before its end the user is told; not if the token doesn't live longer than that at all.
inline constexpr Duration warned_before = std::chrono::days(7);
// How long the row of a token is kept that has expired or was revoked, so that its bearer is told
// "expired" or "revoked" instead of "unknown".
inline constexpr Duration ended_kept_for = std::chrono::days(30);

// The scopes that a token can have: `admin`, for which the caller of make() asks more
// (api/gate/admin_token.h), and all of apps but those that move a user's points. Nobody consents to
// a limit for what a personal token spends.
const ScopeSet& possible_scopes();

// Returns the 6 characters that follow these 40. Any text has a checksum.
std::string checksum_of(std::string_view random);
// Whether the text has the form of a token and its checksum is right.
bool is_well_formed(std::string_view token);

struct Wanted {
  std::string name;
  ScopeSet scopes;
  Duration lifetime = usual_lifetime;
  // The only app that it is for, and the only deployment of that app; empty: all. The caller has
  // checked that they are the user's.
  std::optional<std::string> app_id = {};
  std::optional<std::string> deployment_id = {};
};

// A token as its owner sees it later.
struct Token {
  std::string id;
  std::string user_id;
  std::string name;
  ScopeSet scopes;  // as they were asked for
  std::optional<std::string> app_id;
  std::optional<std::string> deployment_id;
  std::string hint;  // its last characters
  Instant inserted_at;
  Instant expires_at;
  std::optional<Instant> last_used_at = {};
  std::optional<std::string> last_used_from = {};  // an address
};

struct Made {
  std::string secret;  // the token itself, which can't be shown again
  Token token;
};
// Makes a token, and tells the user by mail. Throws email_not_verified, validation_failed, and
// invalid_state if the account has max_living tokens or has made max_made_per_day.
Made make(db::Tx& tx, const accounts::User& user, const Wanted& wanted, const Keys& keys,
          const std::string& base_url);
// Returns the user's tokens that work, newest first: at most max_living.
std::vector<Token> list(db::Tx& tx, const std::string& user_id);
// Ends a token at once. Throws not_found if the user has no such token, or it has ended.
void revoke(db::Tx& tx, const std::string& user_id, const std::string& id);

// Who calls with a token, and what they may do as far as the token says; what the app and the role
// of a member allow is up to the caller of this function. One look-up by the token's hash. Throws
// invalid_token, without a look-up if the checksum is wrong, token_expired, token_revoked or
// account_suspended.
Token check(db::Tx& tx, const std::string& secret);

// What ended, for the mail to its owner.
struct Ended {
  std::string id;
  std::string user_id;
  std::string name;
};
// Ends the token if it works. Returns nothing otherwise.
std::optional<Ended> end(db::Tx& tx, const std::string& secret);
// Whether the token works as far as it knows itself: it is known and hasn't ended.
bool is_living(db::Tx& tx, const std::string& secret);
// Ends all of the user's tokens. Returns the names of at most `most_named` that worked, the newest
// first, and one more if there were more.
std::vector<std::string> end_all(db::Tx& tx, const std::string& user_id, int most_named);
// For accounts that are deleted: removes the user's tokens, with their names and addresses.
void forget(db::Tx& tx, const std::string& user_id);

// Whether the owner of a token has to be told that it will end.
bool is_any_to_warn(db::Tx& tx);
// Tells the owners of at most `limit` tokens by mail. Returns how many tokens were looked at.
int warn_some(db::Tx& tx, const Keys& keys, const std::string& base_url, int limit);
// Tells owners once an hour. `keys` has to outlive the loop.
Loop warning_loop(const Keys& keys, const std::string& base_url);

// Whether remove_old() would find anything. Writes nothing.
bool is_any_old(db::Tx& tx);
// Removes at most `limit` rows of tokens that ended longer than ended_kept_for ago. Returns their
// number.
int remove_old(db::Tx& tx, int limit);

// The last use of each token and its address, collected in memory and written in batches.
class UseLog : public berth::UseLog {
 public:
  UseLog()
      : berth::UseLog(R"(
      UPDATE personal_tokens
      SET last_used_at = $2, last_used_from = $3
      WHERE id = $1)",
                      Keeps::time_and_address) {}
};

}  // namespace berth::personal_tokens
