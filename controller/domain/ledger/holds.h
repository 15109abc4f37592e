#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/domain/ledger/ledger.h"

// Holds: points that are set aside for one purpose until they are posted to somebody, voided, or
// expire; after the two-phase transfers of TigerBeetle. They stand on the source's reservation
// account meanwhile, so that nobody else can spend them.
namespace berth::holds {

struct Hold {
  std::string id;
  std::string source_id;  // of the account that they came from
  std::int64_t amount = 0;
  std::string purpose;  // impression, …
  std::string state;    // open, posted, voided, expired
  Instant created_at;
  Instant expires_at;
};

struct Request {
  ledger::Account source;
  std::int64_t amount = 0;  // 1 to max_points
  std::string_view purpose;
  Duration life;
};
// Nothing, and no change, where the source has less.
std::optional<Hold> place(db::Tx& tx, const Request& request);
std::optional<Hold> find(db::Tx& tx, const std::string& id);

// The points go to `to`, whose account exists; returns the ledger transaction. Nothing, and no
// change, where the hold isn't open any more or its time is over.
std::optional<std::string> post(db::Tx& tx, const std::string& id, const ledger::Account& to,
                                std::string_view kind, const std::string& memo);
// The points go back to where they came from. False where it wasn't open.
bool void_hold(db::Tx& tx, const std::string& id);
// All open ones of the source; returns how many points went back.
std::int64_t void_all(db::Tx& tx, const ledger::Account& source);

// Whether expire() would find one.
bool is_any_due(db::Tx& tx);
// Gives back what is due, `limit` holds at most; returns how many there were. To be called by a
// loop: a hold can't be posted after its time whether or not the loop has seen it.
int expire(db::Tx& tx, int limit);

}  // namespace berth::holds
