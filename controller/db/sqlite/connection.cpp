#include "controller/db/sqlite/connection.h"

#include <sqlite3.h>

#include "controller/base/log.h"
#include "controller/db/request_limits.h"
#include "controller/db/sqlite/busy_timeout.h"

namespace berth::db::sqlite {
namespace {

// How many instructions of a statement SQLite executes between two checks of the deadline. They
// take some tens of microseconds.
constexpr int instructions_between_looks = 2'000;

// Returns what a statement that reached its deadline throws, and logs its text, which contains no
// values.
TooSlow stopped_statement(const std::string& sql) {
  log::warning("a statement took too long and was stopped", {{"sql", sql}});
  return too_slow("a statement took too long");
}

// A prepared statement, with what is looked up once for all of its runs.
class Prepared final : public Statement {
 public:
  // `deadline`, `written` and `needs_transaction` are those of the connection.
  Prepared(SQLite::Database& database, Deadline& deadline, Written& written,
           const bool& needs_transaction, std::string_view sql)
      : Statement(sql),
        handle_(database.getHandle()),
        deadline_(deadline),
        written_(written),
        needs_transaction_(needs_transaction),
        cost_(sql),
        prepared_(database, std::string(sql)) {
    for (int i = 0; i < prepared_.getColumnCount(); ++i)
      columns_.emplace_back(prepared_.getColumnName(i));
    // By name, because SQLite numbers `$2` by the order of its appearance and not by its digit.
    for (int number = 1; number <= prepared_.getBindParameterCount(); ++number)
      parameters_.push_back(prepared_.getIndex(("$" + std::to_string(number)).c_str()));
  }

  void bind(int number, std::int64_t value) override { prepared_.bind(parameter(number), value); }
  void bind(int number, std::string_view value) override {
    prepared_.bind(parameter(number), std::string(value));
    cost_.bind(value);
  }
  void bind_null(int number, ValueKind) override { prepared_.bind(parameter(number)); }

  bool next(Deadline deadline) override {
    const bool is_first = !has_stepped_;
    has_stepped_ = true;
    const bool found = within(deadline, [this] { return prepared_.executeStep(); });
    // With RETURNING, all rows have been changed before the first is returned.
    if (is_first && found) written_ += cost_.of_run(1);
    return found;
  }
  int run(Deadline deadline) override {
    const int changed = within(deadline, [this] { return prepared_.exec(); });
    written_ += cost_.of_run(changed);
    return changed;
  }

  // SQLite would read a text without digits as 0, and cut off what is behind a point.
  std::int64_t integer(int column) const override {
    const SQLite::Column value = prepared_.getColumn(column);
    if (!value.isInteger() && !value.isNull()) throw not_an_integer(sql(), columns_, column);
    return value.getInt64();
  }
  std::string text(int column) const override { return prepared_.getColumn(column).getString(); }
  bool null(int column) const override { return prepared_.isColumnNull(column); }

  void reset() noexcept override {
    prepared_.tryReset();
    prepared_.clearBindings();
    cost_.forget_values();
    has_stepped_ = false;
    deadline_ = Deadline::max();
  }

 private:
  // A number that the statement doesn't have gives an index that SQLite refuses.
  int parameter(int number) const {
    return size_t(number) <= parameters_.size() ? parameters_[size_t(number) - 1] : 0;
  }

  // Returns what `step` does. Throws TooSlow if that was stopped at the deadline.
  template <typename Step>
  auto within(Deadline deadline, Step&& step) -> std::invoke_result_t<Step> {
    if (needs_transaction_ && sqlite3_get_autocommit(handle_) != 0)
      throw SQLite::Exception("the transaction was rolled back", SQLITE_ABORT_ROLLBACK);
    deadline_ = deadline;
    try {
      return step();
    } catch (const SQLite::Exception& failure) {
      const int code = failure.getErrorCode() & 0xff;
      if (code == SQLITE_INTERRUPT && deadline != Deadline::max()) throw stopped_statement(sql());
      if (code == SQLITE_CONSTRAINT) throw ConstraintViolated(failure.what());
      throw;
    }
  }

  sqlite3* const handle_;
  Deadline& deadline_;
  Written& written_;
  const bool& needs_transaction_;
  StatementCost cost_;
  bool has_stepped_ = false;
  mutable SQLite::Statement prepared_;
  std::vector<int> parameters_;  // SQLite's index of `$1`, `$2` and so on
};

}  // namespace

Connection::Connection(const std::filesystem::path& file, int sqlite_open_flags,
                       const std::string& vfs)
    : deadline_(std::make_unique<Deadline>(Deadline::max())),
      database_(file.string(), sqlite_open_flags, busy_timeout_ms, vfs) {
  sqlite3_progress_handler(
      database_.getHandle(), instructions_between_looks,
      [](void* deadline) {
        const Deadline at = *static_cast<const Deadline*>(deadline);
        return at != Deadline::max() && std::chrono::steady_clock::now() >= at ? 1 : 0;
      },
      deadline_.get());
}

std::unique_ptr<Statement> Connection::prepare(std::string_view sql) {
  return std::make_unique<Prepared>(database_, *deadline_, *written_, *needs_transaction_, sql);
}

}  // namespace berth::db::sqlite
