#pragma once

#include <sqlite3.h>

#include <mutex>
#include <string>

namespace berth::test {

// A SQLite VFS (sqlite.org/vfs.html) on top of the default one, whose write-ahead log fails when a
// test says so. It is registered as long as this object lives, and must outlive its connections.
// Thread-safe.
class FaultVfs {
 public:
  enum class Operation { write, sync };
  enum class Lasting { once, until_healed };

  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const { return name_; }

  // Makes the `nth` operation from now on, counted from 1, fail with this SQLite code.
  void fail(Operation operation, int nth, int sqlite_code, Lasting lasting = Lasting::until_healed);
  void heal();
  // Returns how many operations have failed since the last fail().
  int failures() const;

 private:
  friend struct FaultFile;
  int next(Operation operation);  // returns the code that this operation fails with, or SQLITE_OK
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                  int* out_flags);

  const std::string name_;
  sqlite3_vfs vfs_;
  mutable std::mutex mutex_;
  Operation operation_ = Operation::write;
  Lasting lasting_ = Lasting::once;
  int remaining_ = 0;  // operations until one fails; 0 if none will
  int code_ = SQLITE_OK;
  int failures_ = 0;
};

}  // namespace berth::test
