#include <sqlite3.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <stdexcept>

#include "controller/db/sqlite/copy.h"
#include "controller/db/sqlite/database.h"
#include "tests/db/rows.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;

// Records which connection to a file takes the lock that a checkpoint needs (walformat.html,
// section 2.3.1). While this object lives, it is SQLite's default VFS: the real one, with one
// method of its files replaced. It must outlive the connections.
class CheckpointWatch {
 public:
  explicit CheckpointWatch(std::string file) : file_(std::move(file)), vfs_(real()) {
    REQUIRE(only == nullptr);
    only = this;
    vfs_.zName = "berth-checkpoint-watch";
    vfs_.xOpen = open;
    real_ = &real();
    REQUIRE(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }
  ~CheckpointWatch() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    only = nullptr;
  }
  CheckpointWatch(const CheckpointWatch&) = delete;
  CheckpointWatch& operator=(const CheckpointWatch&) = delete;

  // Returns how often each connection has made a checkpoint. Connections are numbered from 0 in the
  // order in which they were opened.
  std::map<int, int> checkpoints() const {
    const std::lock_guard lock(mutex_);
    return checkpoints_;
  }
  int connections() const { return opened_; }

 private:
  static constexpr int checkpoint_lock = 1;  // one of the eight locks in the WAL's index
  static inline CheckpointWatch* only = nullptr;
  static sqlite3_vfs& real() { return *sqlite3_vfs_find(nullptr); }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    const int code = only->real_->xOpen(only->real_, name, file, flags, out_flags);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0 && only->file_ == name)
      only->watch(file);
    return code;
  }
  static int lock(sqlite3_file* file, int first, int count, int flags) {
    constexpr int exclusive = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
    const int code = only->real_methods_->xShmLock(file, first, count, flags);
    const bool takes_it = first <= checkpoint_lock && checkpoint_lock < first + count;
    if (code == SQLITE_OK && flags == exclusive && takes_it) only->count(file);
    return code;
  }

  void watch(sqlite3_file* file) {
    const std::lock_guard guard(mutex_);
    if (real_methods_ == nullptr) {  // all files have the same; other threads read them already
      methods_ = *file->pMethods;
      methods_.xShmLock = lock;
      real_methods_ = file->pMethods;
    }
    file->pMethods = &methods_;
    numbers_[file] = opened_++;  // the memory may have belonged to an earlier connection
  }
  void count(sqlite3_file* file) {
    const std::lock_guard guard(mutex_);
    ++checkpoints_[numbers_.at(file)];
  }

  const std::string file_;
  sqlite3_vfs vfs_;
  sqlite3_vfs* real_ = nullptr;
  const sqlite3_io_methods* real_methods_ = nullptr;
  sqlite3_io_methods methods_{};
  mutable std::mutex mutex_;
  std::map<sqlite3_file*, int> numbers_;
  std::map<int, int> checkpoints_;
  std::atomic<int> opened_ = 0;
};

// Before 3.51.3, SQLite can damage a file if one connection commits, and thereby restarts the WAL,
// while another one makes a checkpoint (wal.html, "The WAL-reset bug"). In berth only the
// connection that commits makes checkpoints.
TEST_CASE("only the connection that writes ever checkpoints") {
  TempDir dir;
  CheckpointWatch watch(dir / "berth.db");
  Clock clock;
  constexpr int readers = 4;
  {
    db::sqlite::Database database(dir / "berth.db", clock,
                                  {.readers = readers, .heavy_readers = 1, .vfs = {}});
    REQUIRE(watch.connections() == 1 + readers + 1);
    const auto count = [](db::Tx& tx) { return tx.number("SELECT count(*) FROM meta"); };
    // Writes half a megabyte each, repeatedly, so that the log fills up again and again.
    const auto write = [&](int i) {
      database.write([&](db::Tx& tx) {
        put(tx, "row " + std::to_string(i % 4), std::string(500'000, char('a' + i % 26)));
      });
    };
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; watch.checkpoints()[0] < round; ++i) {
        write(i);
        CHECK(database.read(count) > 0);
      }
      db::sqlite::copy(dir / "berth.db", dir / "copy.db", [] { return true; });
      CHECK(db::sqlite::examine(dir / "berth.db", [] { return true; }).sound());
    }
  }
  const auto checkpoints = watch.checkpoints();
  REQUIRE(checkpoints.size() == 1);
  CHECK(checkpoints.begin()->first == 0);  // the writer is opened first
}

}  // namespace
