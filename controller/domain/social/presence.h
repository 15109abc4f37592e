#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/shares.h"
#include "controller/db/database.h"

// Who is online, and where. It changes with every heartbeat, so it is kept in memory. The time at
// which a user was last seen is written to the database from time to time, and survives a restart.
// Where several berthd processes share a database, each writes all of its presence every two
// seconds and reads what the others have written; memory then has only what isn't written yet.
namespace berth::presence {

// A user counts as online for this long after the last heartbeat, which is twice the usual
// interval.
inline constexpr Duration online_for = std::chrono::seconds(60);
// How long a table still lists a user who has gone.
inline constexpr Duration table_kept_for = std::chrono::minutes(10);

struct Place {
  std::optional<std::string> current_game;
  std::optional<std::string> lobby;
  bool operator==(const Place&) const = default;
};

struct Entry {
  bool online = false;
  Instant last_seen;  // for a user who was never seen: when the account was created
  Place place;        // empty while offline
};

struct AtTable {
  std::string user_id;
  bool online = false;
  Instant last_seen;
};

enum class Going { stays, leaves };

// in_memory: this process knows all presence. in_database: other berthd processes may know more.
enum class Kept { in_memory, in_database };

// The presence of all users. Thread-safe.
class Board {
 public:
  // Limits of memory (about 400 bytes for each entry), higher than what one berthd can have online.
  // Beyond them, and beyond the shares of a user and a network (base/shares.h), new users and seats
  // are refused, until users have been offline for a minute and seats unused for `table_kept_for`.
  static constexpr size_t max_users = 200'000;
  static constexpr size_t max_seats = 200'000;
  // The most seats of one table; more people don't play at one table.
  static constexpr size_t max_at_table = 500;

  explicit Board(Kept kept = Kept::in_memory) : kept_(kept) {}

  // The user is online, at `place`; or leaves, and is offline at once. Throws Error `unavailable`
  // if there is no room for another user.
  void set(const std::string& user_id, const Place& place, Going going, Instant now);
  // The user is online, at the same place as before, or at none if they were offline. Does nothing
  // if there is no room for another user, because the caller's request has another purpose.
  void touch(const std::string& user_id, Instant now);
  // The presence of a user. Throws user_not_found if nobody ever had this id.
  Entry of(db::Tx& tx, const std::string& user_id) const;

  // The user sits down at the table, stays there, or leaves it. Throws Error `unavailable` if there
  // is no seat left, at the table or overall.
  AtTable sit(db::Tx& tx, const std::string& table_id, const std::string& user_id, Going going);
  // Everybody at the table, in the order of their arrival.
  std::vector<AtTable> at_table(db::Tx& tx, const std::string& table_id) const;

  // Removes the user from memory; for the deletion of accounts, which removes the rows.
  void forget(const std::string& user_id);

  // Writes when users were last seen, in transactions of some hundred rows, and removes those who
  // are offline; with Kept::in_database, it writes everything. Throws Error `unavailable`; what
  // wasn't written is then tried again the next time.
  void flush(db::Database& database);

 private:
  struct Known {
    Instant last_seen;
    Place place;
    bool left = false;
    bool written = false;
    // False if only heartbeats have come since what is in the database, so that its place holds.
    bool has_place = true;
  };
  struct Seat {
    std::string user_id;
    Instant last_seen;
    bool left = false;
  };
  struct HeldUser : Known {
    Shares::Claim claim;
  };
  struct HeldSeat : Seat {
    HeldSeat(Seat seat, Shares::Claim place) : Seat(std::move(seat)), claim(std::move(place)) {}
    Shares::Claim claim;
  };
  using Seats = std::vector<std::pair<std::string, Seat>>;  // with the ids of their tables
  struct Seen {
    std::string user_id;
    Instant at;
  };
  Known* find_or_add(const std::string& user_id);
  Entry shared_of(db::Tx& tx, const std::string& user_id) const;
  void require_seat(db::Tx& tx, const std::string& table_id, const std::string& user_id) const;
  void add_stored_seats(db::Tx& tx, const std::string& table_id, std::vector<AtTable>& seats) const;
  void flush_all(db::Database& database);
  void drop_written(const std::vector<std::pair<std::string, Known>>& users, const Seats& seats);
  std::vector<Seen> unwritten() const;
  void mark_written(std::span<const Seen> some);
  void drop_gone(Instant now);

  const Kept kept_;
  mutable std::mutex mutex_;
  Shares user_shares_{Pool::presence_users, max_users};
  Shares seat_shares_{Pool::presence_seats, max_seats};
  std::unordered_map<std::string, HeldUser> users_;
  std::unordered_map<std::string, std::vector<HeldSeat>> tables_;
};

// Presence in the database that nobody can see any more: the places of those who are offline, and
// seats that nobody has used for `table_kept_for`. Returns whether remove_old() would find any.
bool is_any_old(db::Tx& tx);
// Removes at most `limit` of them. Returns how many.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::presence
