#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/admin_roles.h"

// Internal secrets that admins make, beside those of the configuration: each has a name, by which
// the audit log knows who acts, and a role. Several may have one name, so that a new one can be
// used before the old one is revoked. A secret has 256 random bits and is stored as a hash.
// Functions throw berth::Error.
namespace berth::internal_secrets {

inline constexpr std::string_view prefix = "is_live_";
inline constexpr size_t max_name_length = 40;  // characters
inline constexpr std::int64_t max_secrets = 50;
inline constexpr int max_days = 3650;  // until a secret expires
// The last use is stored at most this often, so that uses cost no write each.
inline constexpr Duration use_stored_every = std::chrono::minutes(5);

// Whether it may be the name of a secret, here and in the configuration: up to 40 of a-z, 0-9 and
// -, beginning with a letter. `internal` and `user` mean others in the audit log.
bool is_name(std::string_view name);
inline constexpr std::string_view name_rule =
    "must be up to 40 characters of a-z, 0-9 and -, begin with a letter, and be neither internal "
    "nor user";

// A secret of the configuration that has a name. Its role is `admin`.
struct Configured {
  std::string name;
  std::string secret;
};

struct Secret {
  std::string id;
  std::string name;
  accounts::AdminRole role = accounts::AdminRole::admin;
  std::string made_by;
  Instant inserted_at;
  std::optional<Instant> expires_at = {};
  std::optional<Instant> last_used_at = {};
};
struct Made {
  Secret secret;
  std::string text;  // the secret itself, which isn't stored
};

// Makes a secret that expires after `lifetime`, or not at all. Needs a serializable write. Throws
// validation_failed if the name isn't one, and invalid_state if there are max_secrets.
Made make(db::Tx& tx, const std::string& name, accounts::AdminRole role,
          std::optional<Duration> lifetime, const std::string& actor);
// Returns all, newest first, also those that have expired.
std::vector<Secret> list(db::Tx& tx);
// The secret opens nothing any more from now on. Returns it. Throws not_found.
Secret revoke(db::Tx& tx, const std::string& id, const std::string& actor);

// Returns the secret with this text; nothing if there is none or it has expired. Looks it up by its
// hash, so that the time says nothing about others.
std::optional<Secret> find_valid(db::Tx& tx, std::string_view text);
// Whether the use now should be stored, and stores it.
bool is_use_due(const Secret& secret, Instant now);
void store_use(db::Tx& tx, const std::string& id);

}  // namespace berth::internal_secrets
