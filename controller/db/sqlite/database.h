#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "controller/db/database.h"
#include "controller/db/sqlite/connection.h"

namespace berth::db::sqlite {

struct Options {
  unsigned readers = 8;         // connections that read() can use at the same time
  unsigned heavy_readers = 2;   // further ones, for Readers::heavy
  size_t max_waiting = 10'000;  // writes in the queue; further ones are refused
  size_t max_group = 1'024;     // writes that share a commit
  // For tests: the name of a registered SQLite VFS; empty means SQLite's default.
  std::string vfs;
};

// The SQLite database. There are many readers, each of which sees a snapshot, and one writer
// thread. The writer runs all waiting writes in one transaction, each in a savepoint, and answers
// them after the commit (group commit: writes that arrive during a sync form the next group; there
// are no timers). With WAL and synchronous=FULL, everything that was answered is on disk. SQLite
// rolls back the whole group with a changing statement that is stopped; the group's other writes
// then throw `unavailable`. Thread-safe.
class Database final : public db::Database {
 public:
  // Opens or creates `file` and migrates it to the newest schema. Throws std::runtime_error if the
  // file is damaged, or if this berthd can't use its schema (check_applied()).
  Database(const std::filesystem::path& file, const Clock& clock, Options options = {});
  ~Database() override;  // runs the waiting writes first

 private:
  // A connection for reading, and the snapshot that it holds, if there is one.
  struct ReadConnection {
    Connection connection;
    std::optional<std::uint64_t> snapshot;  // the value of epoch_ before it was taken
    void begin(std::uint64_t epoch);
    void end();
  };
  // The connections of one kind of Readers.
  struct Pool {
    std::vector<std::unique_ptr<ReadConnection>> idle;
    std::condition_variable is_free;
  };

  // A connection that is taken for one read. Its snapshot stays open afterwards for the next read,
  // until a commit makes it outdated. So most reads need no lock of the file and neither BEGIN nor
  // COMMIT.
  class Reader {
   public:
    explicit Reader(Database& database);
    ~Reader();
    Tx& tx() { return *tx_; }

   private:
    void give_back();
    Database& database_;
    Pool& pool_;
    std::unique_ptr<ReadConnection> reader_;
    std::optional<Tx> tx_;
  };

  struct Job {
    const TxWork& work;
    std::optional<std::chrono::milliseconds> statement_time;
    Isolation isolation;
    std::vector<Note> notes;
    std::exception_ptr failure;
    Written written;
  };

  // Writes that are answered together, because waking all their threads then takes one system call.
  // Shared by the queue or the writer with the threads that wait for it.
  struct Group {
    // Guarded by queue_mutex_ while in the queue, then used by the writer only.
    std::vector<Job*> jobs;
    std::mutex mutex;
    std::condition_variable over_changed;
    bool over = false;
  };

  void open_readers(Readers which, unsigned count);
  void run_read(const TxWork& work, View view) override;
  void run_write(const TxWork& work, Isolation isolation) override;
  void writer_loop();
  std::shared_ptr<Group> next_group();
  size_t run_jobs(std::span<Job* const> jobs);
  bool run_job(Job& job, Instant now);
  bool group_is_lost();
  void roll_back();
  void begin_epoch();
  void checkpoint();

  const std::filesystem::path file_;
  const Clock& clock_;
  const Options options_;
  std::unique_ptr<Connection> writer_;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<Group>> queue_;  // all groups but the last are full
  size_t waiting_ = 0;                        // writes in the queue
  bool stopping_ = false;

  int wal_pages_ = 0;  // pages in the WAL after the newest commit; used by the writer thread only
  // Increases when snapshots that were taken earlier must not be used any more.
  std::atomic<std::uint64_t> epoch_ = 0;
  std::mutex readers_mutex_;
  std::array<Pool, 2> pools_;  // by Readers

  std::thread thread_;
};

}  // namespace berth::db::sqlite
