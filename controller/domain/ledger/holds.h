#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/domain/ledger/ledger.h"

// Holds: points that are reserved for one purpose until they are posted to somebody, voided, or
// expire; modelled on the two-phase transfers of TigerBeetle. Meanwhile they are on the source's
// reservation account, so that they can't be spent otherwise.
namespace berth::holds {

enum class State { open, posted, voided, expired };
constexpr auto texts_of(State) {
  return EnumTexts<State::expired>{"open", "posted", "voided", "expired"};
}

struct Hold {
  std::string id;
  ledger::Account source;  // the account that the points came from
  std::int64_t amount = 0;
  std::string purpose;  // such as "impression"
  State state = State::open;
  Instant created_at;
  Instant expires_at;
};

// Locks the source's account and then its reservation account, as ledger::lock() does. All
// functions of this module change rows in this order, and the hold's last, so that writes with row
// locks can't deadlock. A write that changes further rows calls this first.
void lock_accounts(db::Tx& tx, const ledger::Account& source);

struct Request {
  ledger::Account source;
  std::int64_t amount = 0;  // 1 to max_points
  std::string_view purpose;
  Duration life;
  bool has_account = false;  // whether the reservation account is known to exist
};
// Reserves the points. Returns nothing, and changes nothing, if the source has too few.
std::optional<Hold> place(db::Tx& tx, const Request& request);
std::optional<Hold> find(db::Tx& tx, const std::string& id);

// Moves the points of a hold, as find() returned it, to `to`, whose account must exist. Returns the
// id of the ledger transaction. Returns nothing, and changes nothing, if the hold is no longer open
// or has expired.
std::optional<std::string> post(db::Tx& tx, const Hold& hold, const ledger::Account& to,
                                std::string_view kind, const std::string& memo);
// Returns the points to their source. Returns false if the hold wasn't open.
bool void_hold(db::Tx& tx, const std::string& id);
// Voids all open holds of the source. Returns how many points were given back.
std::int64_t void_all(db::Tx& tx, const ledger::Account& source);

// Returns how many holds are open. Reads an entry of an index for each of them.
std::int64_t count_open(db::Tx& tx);

// Returns how many points all open holds have together. Reads as much.
std::int64_t sum_open(db::Tx& tx);

// Whether expire() would find a hold.
bool is_any_due(db::Tx& tx);
// Returns the points of expired holds to their sources, at most `limit` holds at a time, and
// returns the number of holds. A loop calls this; a hold can't be posted after its time even if the
// loop hasn't processed it yet.
int expire(db::Tx& tx, int limit);

// How long a hold's row is kept after it was closed, for those who still ask. The postings say what
// became of its points.
inline constexpr Duration closed_kept_for = std::chrono::hours(24);
// Whether remove_old() would find a row.
bool is_any_old(db::Tx& tx);
// Deletes at most `limit` holds that were closed that long ago. Returns their number.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::holds
