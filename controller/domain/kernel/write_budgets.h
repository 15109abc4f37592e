#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/db/write_meter.h"
#include "controller/domain/kernel/disk_room.h"

// How much each account and each network may store on a day in UTC, by what an operation stores.
// docs/reference/write-budgets.md is printed from the table.
namespace berth::write_budgets {

// What an operation stores. `nothing` also stands for operations that only remove or end something,
// which are never refused because the disk is nearly full; `unsaid` is for rows of the table of
// routes that don't say it, and counts like `account`.
enum class Stores {
  unsaid,
  nothing,
  registration,
  sign_in,
  account,
  people,
  chat,
  apps,
  deployments,
  sessions,
  ads,
  payments,
  administration
};
constexpr auto texts_of(Stores) {
  return EnumTexts<Stores::administration>{
      "unsaid", "nothing",     "registration", "sign_in", "account",  "people",        "chat",
      "apps",   "deployments", "sessions",     "ads",     "payments", "administration"};
}

using Amount = db::Written;

struct Budget {
  Stores stores;
  std::string_view what;  // the operations, for the documentation
  Amount account;         // what an account with a verified address may store on a day
  Amount unverified;      // the same for other accounts; if it is nothing, they are refused
  Amount network;         // what may come from one network on a day
  // What berthd itself stores later because of each such operation, such as letters and events; it
  // counts with the operation.
  std::int64_t later = 0;
  DiskStage stops_at = DiskStage::ample;  // `ample`: only once the disk is full
};
// Returns all budgets, in the order of the enum. `unsaid`, `nothing` and `administration` have
// none.
std::span<const Budget> all();
// Returns null for what isn't limited.
const Budget* find(Stores stores);

// The sums of all budgets: for an account whose address is verified, for one whose address isn't,
// and for a network, which is an IPv4 address or a /64 of IPv6.
inline constexpr std::int64_t bytes_of_account = 20'000'000;
inline constexpr std::int64_t bytes_of_unverified_account = 100'000;
inline constexpr std::int64_t bytes_of_network = 200'000'000;
// A /24 of IPv4 and a /48 of IPv6 may store as much as this number of networks.
inline constexpr int networks_of_neighbourhood = 4;

// What a guest (accounts/guests.h) may store on a day with operations that others may call only
// once their address is verified: some friends, and where they are. The other budgets that are only
// for verified addresses have nothing for guests.
inline constexpr Amount people_of_guest = {10'000, 60};

// Who stores something.
struct Writer {
  std::string account_id = {};  // empty if nobody has logged in
  // Whether the account's address is verified. Called only if it matters, and never by two threads
  // at once for one Writer; may read the database.
  std::function<bool()> is_verified = {};
  bool is_guest = false;
  // The client's address. Empty for the server of an app that an admin has approved for a scope: it
  // speaks for many people.
  std::string address = {};
  // The account to which an app belongs whose container or CI job has proven itself by a token of
  // its own. All of them together may store as much as a network, which they may share with
  // others'.
  std::string owner_id = {};
};
// What the writer may store on a day while their address isn't verified; if it is nothing, they are
// refused.
Amount unverified_part(const Budget& budget, const Writer& writer);

// Counts what was stored today. Thread-safe.
//
// Counts are kept in memory. Only those that have reached a sixteenth of their budget are stored by
// flush(), so that no request waits for that and few rows are written. A restart and the other
// berthd processes on the database know the stored ones. So each of several processes may let
// through a sixteenth of a budget that the others don't know of, and what comes within
// flush_interval; an account whose address isn't verified counts in each process by itself. Memory
// is bounded: beyond `max_counts`, the count that was used longest ago is forgotten.
class Counts {
 public:
  static constexpr std::chrono::seconds flush_interval{10};
  static constexpr int stored_from = 16;  // what part of its budget a count needs to be stored
  // How many accounts are counted, and as many networks.
  static constexpr size_t default_max_counts = 65'536;

  // Stored counts name nobody: accounts and addresses are hashed with `data_key`. The budgets are
  // divided by `divisor`, for tests.
  explicit Counts(std::string data_key, int divisor = 1, size_t max_counts = default_max_counts);

  // Returns why this may not be stored now: email_not_verified, or rate_limited with the
  // seconds until the next day. Counts nothing.
  std::optional<Error> refusal(const Writer& writer, Stores stores, Instant now);
  // Counts what was stored. It may go beyond the budget by what one request stores.
  void charge(const Writer& writer, Stores stores, const Amount& stored, Instant now);

  // Stores what was counted since the last call, and reads what others have stored. Call it at the
  // start, every flush_interval and at the end, one thread at a time. Throws Error `unavailable`;
  // what wasn't stored is stored by the next call.
  void flush(db::Database& database, Instant now);

  size_t size();  // how many counts are in memory

 private:
  // An account, a network or a neighbourhood, or an account for its containers and CI jobs, and
  // what it stores.
  enum class Whose : char { account = 'a', network = 'n', neighbourhood = 'h', owner = 'o' };
  struct Count {
    std::string hash;  // the hash that stands for the subject in the database
    std::int64_t day = 0;
    Amount unflushed = {};
    Amount threshold = {};
    bool is_verified = false;
    std::list<const std::string*>::iterator place;
  };
  struct Counted {
    std::map<std::string, Count, std::less<>> counts;
    std::list<const std::string*> by_age;  // the one that was used longest ago first
  };
  struct Use {
    Amount amount;
    bool is_verified = false;
  };

  struct Waiting {
    std::string hash;
    std::int64_t day = 0;
    Amount amount;
  };

  Amount divided(const Amount& amount) const;
  Counted& counted(Whose whose) {
    return whose == Whose::account || whose == Whose::owner ? accounts_ : networks_;
  }
  Use used(Whose whose, Stores stores, const std::string& subject, std::int64_t day);
  Amount stored_for(const std::string& hash, std::int64_t day) const;
  void add(Whose whose, const Budget& budget, const std::string& subject, const Amount& stored,
           std::int64_t day);
  static void store(db::Tx& tx, const Waiting& one);
  void note_verified(Stores stores, const std::string& account_id);

  const std::string data_key_;
  const int divisor_;
  const size_t max_counts_;
  std::vector<Waiting> waiting_;  // to be stored; used by flush() only
  std::mutex mutex_;              // guards what follows
  Counted accounts_;
  Counted networks_;
  std::int64_t stored_day_ = 0;
  std::unordered_map<std::string, Amount> stored_;  // what was read for stored_day_, by hash
};

// The refusal of an account whose address has to be verified first.
Error not_verified();

// Returns the /24 of an IPv4 address, or the /48 of an IPv6 address; empty for other text.
std::string neighbourhood_of(std::string_view address);

// Whether remove_old() would find a count. Removes at most `limit` counts of earlier days and
// returns their number.
bool is_any_old(db::Tx& tx);
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::write_budgets
