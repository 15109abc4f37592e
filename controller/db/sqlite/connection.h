#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/db/engine.h"
#include "controller/db/write_meter.h"

namespace berth::db::sqlite {

// A connection to a SQLite file. Only one thread may use it at a time.
class Connection final : public db::Connection {
 public:
  // `vfs` is the name of a registered SQLite VFS; empty means SQLite's default.
  Connection(const std::filesystem::path& file, int sqlite_open_flags, const std::string& vfs);
  ~Connection() override { forget_statements(); }
  Connection(Connection&&) noexcept = default;

  SQLite::Database& raw() { return database_; }
  std::unique_ptr<db::Statement> prepare(std::string_view sql) override;
  std::int64_t changes() const override { return database_.getTotalChanges(); }
  // While this object lives, statements throw a SQLite::Exception once SQLite has rolled back the
  // whole transaction, as it does when the disk is full. Otherwise each of those that follow would
  // be stored at once, for a caller who has swallowed the first failure.
  class NeedsTransaction {
   public:
    explicit NeedsTransaction(Connection& connection) : needed_(*connection.needs_transaction_) {
      needed_ = true;
    }
    ~NeedsTransaction() { needed_ = false; }
    NeedsTransaction(const NeedsTransaction&) = delete;
    NeedsTransaction& operator=(const NeedsTransaction&) = delete;

   private:
    bool& needed_;
  };
  // What statements have stored since the last call.
  Written take_written() { return std::exchange(*written_, {}); }

 private:
  std::unique_ptr<Deadline> deadline_;  // SQLite's progress handler has its address
  std::unique_ptr<Written> written_ = std::make_unique<Written>();  // statements have its address
  std::unique_ptr<bool> needs_transaction_ = std::make_unique<bool>(false);  // this one's, too
  SQLite::Database database_;
};

}  // namespace berth::db::sqlite
