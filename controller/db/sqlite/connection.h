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
  // What statements have stored since the last call.
  Written take_written() { return std::exchange(*written_, {}); }

 private:
  std::unique_ptr<Deadline> deadline_;  // SQLite's progress handler has its address
  std::unique_ptr<Written> written_ = std::make_unique<Written>();  // statements have its address
  SQLite::Database database_;
};

}  // namespace berth::db::sqlite
