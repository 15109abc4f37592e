#include "controller/domain/accounts/expiry.h"

#include <array>
#include <string_view>

#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/given_up_names.h"
#include "controller/domain/accounts/login_failures.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::accounts {
namespace {

// Rows to which nothing refers. Each condition has an index.
struct OldRows {
  Duration kept;            // after the row's own time
  std::string_view any;     // a row whose time is $1 or earlier
  std::string_view remove;  // at most $2 of these rows
};
constexpr std::array old_rows = {
    OldRows{.kept = Duration(0),
            .any = R"(SELECT 1 FROM sessions WHERE expires_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM sessions
      WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 LIMIT $2))"},
    OldRows{.kept = Duration(0),
            .any = R"(SELECT 1 FROM email_tokens WHERE expires_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM email_tokens
      WHERE token_hash IN (SELECT token_hash FROM email_tokens WHERE expires_at <= $1 LIMIT $2))"},
    OldRows{.kept = Duration(0),
            .any = R"(SELECT 1 FROM used_passkey_challenges WHERE expires_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM used_passkey_challenges
      WHERE challenge_hash IN (SELECT challenge_hash
                               FROM used_passkey_challenges
                               WHERE expires_at <= $1
                               LIMIT $2))"},
    OldRows{.kept = login_failures::kept_for,
            .any = R"(SELECT 1 FROM login_failures WHERE failed_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM login_failures
      WHERE id IN (SELECT id FROM login_failures WHERE failed_at <= $1 LIMIT $2))"},
    OldRows{.kept = networks_known_for,
            .any = R"(SELECT 1 FROM login_networks WHERE last_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM login_networks
      WHERE (user_id, network) IN (SELECT user_id, network
                                   FROM login_networks
                                   WHERE last_at <= $1
                                   LIMIT $2))"},
    OldRows{.kept = address_remembered_for,
            .any = R"(SELECT 1 FROM deleted_addresses WHERE deleted_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM deleted_addresses
      WHERE address_hash IN (SELECT address_hash
                             FROM deleted_addresses
                             WHERE deleted_at <= $1
                             LIMIT $2))"},
    OldRows{.kept = name_reserved_for,
            .any = R"(SELECT 1 FROM given_up_names WHERE given_up_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM given_up_names
      WHERE (kind, name_hash) IN (SELECT kind, name_hash
                                  FROM given_up_names
                                  WHERE given_up_at <= $1
                                  LIMIT $2))"},
    OldRows{.kept = email_changes::undone_within,
            .any = R"(SELECT 1 FROM email_changes WHERE asked_at <= $1 LIMIT 1)",
            .remove = R"(
      DELETE FROM email_changes
      WHERE stop_hash IN (SELECT stop_hash FROM email_changes WHERE asked_at <= $1 LIMIT $2))"},
};

// Letters to unverified addresses are counted for each UTC day; only today's count is used. $1 is
// the first day that is kept.
constexpr std::string_view any_old_day =
    R"(SELECT 1 FROM unverified_letters WHERE day < $1 LIMIT 1)";
constexpr std::string_view remove_days = R"(
      DELETE FROM unverified_letters
      WHERE (address_hash, day) IN (SELECT address_hash, day
                                    FROM unverified_letters
                                    WHERE day < $1
                                    LIMIT $2))";

// If there are more failed logins than may be kept, the oldest are removed.
constexpr std::string_view any_failure_too_many =
    R"(SELECT 1 FROM login_failures ORDER BY failed_at DESC LIMIT 1 OFFSET $1)";
constexpr std::string_view remove_oldest_failures = R"(
      DELETE FROM login_failures
      WHERE id IN (SELECT id FROM login_failures ORDER BY failed_at LIMIT $1))";

}  // namespace

bool is_any_old(db::Tx& tx) {
  for (const OldRows& rows : old_rows)
    if (tx.number(rows.any, tx.now() - rows.kept) > 0) return true;
  return tx.number(any_failure_too_many, login_failures::most_kept) > 0 ||
         tx.number(any_old_day, utc_day(tx.now()) - 1) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  int removed = 0;
  for (const OldRows& rows : old_rows)
    if (removed < limit) removed += tx.execute(rows.remove, tx.now() - rows.kept, limit - removed);
  if (removed < limit && tx.number(any_failure_too_many, login_failures::most_kept) > 0)
    removed += tx.execute(remove_oldest_failures, limit - removed);
  if (removed < limit) removed += tx.execute(remove_days, utc_day(tx.now()) - 1, limit - removed);
  return removed;
}

}  // namespace berth::accounts
