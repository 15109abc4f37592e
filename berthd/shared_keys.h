#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "berthd/data_dir.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/keys.h"

namespace berth {

// Returns the session keys of all berthd processes on this database; nothing if none of them has
// rotated a key yet. Throws std::runtime_error if the row can't be decrypted.
std::optional<SessionKeys::List> stored_session_keys(db::Tx& tx, const std::string& data_key);

// The session keys of all berthd processes on one database: a row, encrypted with the data key,
// which each process copies into its keys.json. Without the row, the session keys of keys.json are
// valid. Thread-safe.
class SharedKeys {
 public:
  // `keys` are those of `data`; all three outlive this object.
  SharedKeys(db::Database& database, const DataDir& data, Keys& keys)
      : database_(database), data_(data), keys_(keys) {}

  // Puts a new session key in front, in the database and then here, and returns its id. Existing
  // sessions keep working; see rotated(). Throws Error `unavailable` if nothing was stored, and
  // DataDirError if only keys.json wasn't written.
  std::string rotate(Instant now, Duration session_lifetime);
  // Takes over the keys that another process has rotated. Throws what reads throw, DataDirError,
  // and std::runtime_error if the row can't be decrypted.
  void reread();

 private:
  void take(SessionKeys::List session);

  db::Database& database_;
  const DataDir& data_;
  Keys& keys_;
  std::mutex one_at_a_time_;
};

}  // namespace berth
