#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Who is online, and where. It changes with every heartbeat, so it is kept in memory. The time at
// which a user was last seen is written to the database from time to time, and survives a restart.
namespace berth::presence {

// A user counts as online for this long after the last heartbeat, which is twice the usual
// interval.
inline constexpr Duration online_for = std::chrono::seconds(60);
// How long a table still lists a user who has gone.
inline constexpr Duration table_kept_for = std::chrono::minutes(10);

struct Place {
  std::optional<std::string> current_game;
  std::optional<std::string> lobby;
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

// The presence of all users. Thread-safe.
class Board {
 public:
  // Limits of memory (about 300 bytes for each entry), higher than what one berthd can have online.
  // Beyond them new users and seats are refused, until users have been offline for a minute and
  // seats unused for `table_kept_for`.
  static constexpr size_t max_users = 200'000;
  static constexpr size_t max_seats = 200'000;
  // The most seats of one table; more people don't play at one table.
  static constexpr size_t max_at_table = 500;

  // The user is online, at `place`; or leaves, and is offline at once. Throws Error `unavailable`
  // if max_users are present.
  void set(const std::string& user_id, const Place& place, Going going, Instant now);
  // The user is online, at the same place as before, or at none if they were offline. Does nothing
  // if there is no room for another user, because the caller's request has another purpose.
  void touch(const std::string& user_id, Instant now);
  // The presence of a user. Throws user_not_found if nobody ever had this id.
  Entry of(db::Tx& tx, const std::string& user_id) const;

  // The user sits down at the table, stays there, or leaves it. Throws Error `unavailable` if there
  // is no seat left, at the table or overall.
  AtTable sit(const std::string& table_id, const std::string& user_id, Going going, Instant now);
  // Everybody at the table, in the order of their arrival.
  std::vector<AtTable> at_table(const std::string& table_id, Instant now) const;

  // Removes the user; for the deletion of accounts.
  void forget(const std::string& user_id);

  // Writes when users were last seen, in transactions of some hundred rows, and removes those who
  // are offline. Throws Error `unavailable`; what wasn't written is then tried again the next time.
  void flush(db::Database& database);

 private:
  struct Known {
    Instant last_seen;
    Place place;
    bool left = false;
    bool written = false;
  };
  struct Seat {
    std::string user_id;
    Instant last_seen;
    bool left = false;
  };
  struct Seen {
    std::string user_id;
    Instant at;
  };
  std::vector<Seen> unwritten() const;
  void mark_written(std::span<const Seen> some);
  void drop_gone(Instant now);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Known> users_;
  std::unordered_map<std::string, std::vector<Seat>> tables_;
  size_t seats_ = 0;
};

}  // namespace berth::presence
