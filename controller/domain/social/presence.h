#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Who is there, and where. It changes with every heartbeat, so it is kept in memory; when somebody
// was last seen is written now and then, and outlasts a restart.
namespace berth::presence {

// Nobody is there who wasn't heard of for so long: twice the usual interval of heartbeats.
inline constexpr Duration online_for = std::chrono::seconds(60);
// How long a table goes on naming somebody who is there no more.
inline constexpr Duration table_kept_for = std::chrono::minutes(10);

struct Place {
  std::optional<std::string> current_game;
  std::optional<std::string> lobby;
};

struct Entry {
  bool online = false;
  Instant last_seen;  // of somebody who was never seen: when the account was made
  Place place;        // empty while offline
};

struct AtTable {
  std::string user_id;
  bool online = false;
  Instant last_seen;
};

enum class Going { stays, leaves };

// Thread-safe.
class Board {
 public:
  // Bounds of memory (some 300 bytes for each): more than can be online on one berthd. Above them
  // newcomers are refused until others have been gone for a minute.
  static constexpr size_t max_users = 200'000;
  static constexpr size_t max_seats = 200'000;
  // What a table's answer lists; more people don't play at one table.
  static constexpr size_t max_at_table = 500;

  // The user is there, at `place`; or leaves, and is offline at once. Throws Error unavailable
  // where max_users are there.
  void set(const std::string& user_id, const Place& place, Going going, Instant now);
  // The user is there, wherever he was. Leaves him out where there is no room: for heartbeats
  // whose purpose is another one.
  void touch(const std::string& user_id, Instant now);
  // What is known of an account that exists.
  Entry of(db::Tx& tx, const std::string& user_id) const;

  // Throws Error unavailable where there is no seat left, at the table or at all.
  AtTable sit(const std::string& table_id, const std::string& user_id, Going going, Instant now);
  // By when they came, the longest there first.
  std::vector<AtTable> at_table(const std::string& table_id, Instant now) const;

  // For accounts that are deleted.
  void forget(const std::string& user_id);

  // Writes when users were last seen, in transactions of some hundred rows, and drops who isn't
  // there any more. Throws Error unavailable; then what isn't written is tried again.
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
