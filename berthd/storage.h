#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berthd/backup/maker.h"
#include "berthd/config.h"
#include "berthd/data_dir.h"
#include "berthd/open_database.h"
#include "berthd/shared_keys.h"
#include "controller/base/version.h"
#include "controller/domain/kernel/disk_room.h"
#include "controller/domain/kernel/replicas.h"

namespace berth {

// What berthd keeps, in the order in which it is opened: the data directory with the keys, the
// database with the rows that every start needs, and what it shares with other berthd processes on
// the database, which only PostgreSQL allows. All functions are thread-safe.
struct Storage {
  // Throws StartError, DataDirError, SQLite::Exception or std::runtime_error.
  explicit Storage(const Config& config);

  bool is_on_postgres() const { return opened.postgres != nullptr; }
  // The secret for x-internal-secret.
  std::string internal_secret() const;
  // Puts a new session key in front, for all processes on the database, and returns its id.
  std::string rotate_session_key();
  // Returns the size of the data directory's file system, or nothing if it can't be found out.
  std::optional<DiskSpace> disk_space() const;
  // The size of a database in the data directory, with its write-ahead log; 0 if there is none.
  std::int64_t bytes_of(const char* name) const;
  std::int64_t database_bytes() const;
  // The time since the newest backup, as api::Fleet has it.
  std::optional<Duration> backup_age();

  // On PostgreSQL, to be called every Replicas::beat_interval: says that this process is alive,
  // and reads what others have changed. Calls `missed` if one of them has died, because notices of
  // its last commits may be lost. Throws StartError if `berthd migrate` moved the database, such as
  // while this process was cut off from the server, and what reads and writes throw.
  void follow(const std::function<void()>& missed);
  // Gives up this process's leases, so that other processes take over its loops at once.
  void leave();

  const Config& config;
  DataDir data{config.data_dir};
  Keys keys = data.keys(config.keys_file);
  Clock clock;
  const OpenedDatabase opened = open_database(config, data, clock);
  db::Database& database = *opened.database;
  // The id of this database on every cluster that it uses.
  const std::string instance = first_write();
  // Null on SQLite, because only a PostgreSQL database can have several berthd processes.
  const std::unique_ptr<Replicas> replicas =
      is_on_postgres() ? std::make_unique<Replicas>(database) : nullptr;
  SharedKeys shared_keys{database, data, keys};
  backup::Maker backups{data, clock, version, rows_for_backups()};

 private:
  std::string first_write();
  backup::Source rows_for_backups();
};

}  // namespace berth
