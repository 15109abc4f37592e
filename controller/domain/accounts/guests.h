#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/domain/accounts/accounts.h"

// Guests: players whom an app has started without an address and a password. A guest is a row of
// `users` that belongs to an app (`guest_of`), so that friends, items and points have an owner
// whose id stays when the guest becomes an account (become_account() in accounts.h). Nobody can log
// in as a guest; the app's tokens are the only way in (oauth/guest_tokens.h), and a guest whose
// tokens have ended is removed (lifecycle/guests.h). docs/decisions/accounts.md says what guests
// may do.
namespace berth::guests {

// How many guests an app may make on a UTC day, and have at a time; and the same for all apps
// together, because anybody can register apps.
inline constexpr int max_made_per_day = 1'000;
inline constexpr int max_living = 10'000;
inline constexpr int max_made_per_day_by_all = 20'000;
inline constexpr int max_living_of_all = 200'000;
// The same for the apps of one account together, also for those that it has deleted: a tenth, so
// that no account takes the room of all others.
inline constexpr int max_made_per_day_by_owner = max_made_per_day_by_all / 10;
inline constexpr int max_living_of_owner = max_living_of_all / 10;
// An app that no admin has approved for a scope makes no guests once its owner's apps have as many
// as one app may have, nor once all apps together have half of what they may have: anybody can
// register further accounts, and approved apps still have the other half.
inline constexpr int max_made_per_day_by_owner_unapproved = max_made_per_day;
inline constexpr int max_living_of_owner_unapproved = max_living;
inline constexpr int max_made_per_day_by_all_unapproved = max_made_per_day_by_all / 2;
inline constexpr int max_living_of_all_unapproved = max_living_of_all / 2;
// How many friend requests of a guest may wait for an answer.
inline constexpr int max_open_requests = 10;
// From how many unanswered friend requests on a user gets no further ones from guests, so that an
// app can't bury somebody under the requests of guests that it makes.
inline constexpr int max_requests_to_one = 100;
// How long the row of a removed guest stays: until their consent, which is kept for an hour after
// its end, and the other rows about them are gone.
inline constexpr Duration row_kept_for = std::chrono::days(1);

// The app that makes a guest.
struct Maker {
  std::string app_id;
  std::string owner_id;      // the account that the app belongs to
  bool is_approved = false;  // an admin has approved the app for a scope
};
// Makes a guest of the app, with a username that nobody chose and the address
// `<id>@guest.invalid`. They are looked at next at `due_at`. Throws rate_limited beyond the limits
// above. Needs serializability.
accounts::User add(db::Tx& tx, const Maker& maker, Instant due_at);

// The app whose guest the account is; nothing if it is no guest, no longer one, or removed.
std::optional<std::string> app_of(db::Tx& tx, const std::string& user_id);
// Throws guest_account if one of the two accounts is a guest's: points and gifts neither come from
// guests nor reach them.
void require_none(db::Tx& tx, const std::string& one, const std::string& other);
// Takes one from the number of the app's guests, and of its owner's, who has become an account or
// was removed.
void count_left(db::Tx& tx, const std::string& app_id);
// The app goes from one account to another, and its guests count for that from now on. They are
// taken even beyond its limit; then it makes no more.
void give_count(db::Tx& tx, const std::string& app_id, const std::string& from,
                const std::string& to);

// A guest, or the row of a removed one, that has to be looked at.
struct Due {
  std::string user_id;
  bool is_removed = false;
};
bool is_any_due(db::Tx& tx);
// The ones that are due for the longest time, at most `most`.
std::vector<Due> due(db::Tx& tx, int most);
// Sets when the guest is looked at next; without a time, never.
void look_again(db::Tx& tx, const std::string& user_id, std::optional<Instant> at);

// Whether the points of a removed guest have left entries in the ledger. Then the row has to stay.
bool has_ledger_account(db::Tx& tx, const std::string& user_id);
// Whether rows about a removed guest wait for their end.
bool has_rows(db::Tx& tx, const std::string& user_id);
// Deletes the row of a removed guest, of whom neither of the two is true.
void remove_row(db::Tx& tx, const std::string& user_id);

}  // namespace berth::guests
