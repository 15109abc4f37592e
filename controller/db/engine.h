#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// What the two engines, controller/db/sqlite and controller/db/postgres, implement for Query and Tx
// (controller/db/database.h).
namespace berth::db {

// A statement would break a constraint of the schema, or a trigger refused it. A write that catches
// this can go on only if the statement ran within Tx::nested(): otherwise PostgreSQL has given up
// the whole transaction.
struct ConstraintViolated : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a write has read was changed by another write before it could change it itself: the write is
// undone and runs again, whatever its isolation. Tx::require_change() throws it, and so does code
// that finds that a change which should have been possible has changed no row. On SQLite, where one
// write runs at a time, that is a mistake, and nobody catches it.
struct Overtaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The message of Overtaken for a statement, whose text contains no values.
inline std::string overtaken_by(const std::string& sql) {
  return "another write came first; this changed no row, or more than one: " + sql;
}

// A statement that reaches this time is stopped and throws TooSlow; max() means never.
using Deadline = std::chrono::steady_clock::time_point;

enum class ValueKind { integer, text, unknown };

// How many writes run at the same time: one, after which the next one begins (SQLite), or many,
// which collide if two of them change one row (PostgreSQL).
enum class Writers { one, many };

// What the outcome of a statement that may wait for the next one is needed for: nothing; it has to
// be one changed row, or else Overtaken is thrown; or somebody reads its rows, or their number,
// later.
enum class Wanted { nothing, one_change, rows };

// What Statement::integer() throws for a value that isn't one. The message has no value.
inline std::logic_error not_an_integer(const std::string& sql,
                                       const std::vector<std::string>& columns, int column) {
  return std::logic_error("the column " + columns.at(size_t(column)) +
                          " is no integer of 64 bits: " + sql);
}

// A prepared statement of a connection. One Query at a time uses it.
class Statement {
 public:
  explicit Statement(std::string_view sql) : sql_(sql) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  const std::string& sql() const { return sql_; }
  // The names of the columns. They are known once next() has returned true.
  const std::vector<std::string>& columns() const { return columns_; }

  // Binds a value to the placeholder `$<number>`. Integers, flags and times are integers.
  virtual void bind(int number, std::int64_t value) = 0;
  virtual void bind(int number, std::string_view value) = 0;
  virtual void bind_null(int number, ValueKind kind) = 0;
  // Moves to the next row. Returns false after the last one.
  virtual bool next(Deadline deadline) = 0;
  // Runs a statement that returns no rows. Returns the number of rows that it changed.
  virtual int run(Deadline deadline) = 0;
  // Runs the statement now or, if that saves time, together with the transaction's next one, which
  // then throws what this one would have thrown. Statements whose rows are wanted may also run with
  // the next() or run() that asks for them; others run before the transaction is stored.
  virtual void may_wait(Deadline deadline, Wanted wanted) {
    if (wanted == Wanted::rows) return;
    if (run(deadline) != 1 && wanted == Wanted::one_change) throw Overtaken(overtaken_by(sql()));
  }
  // Values of the present row, by the numbers of their columns, counted from 0. NULL reads as 0 or
  // "". Throws std::logic_error if integer() finds a value that isn't an integer of 64 bits.
  virtual std::int64_t integer(int column) const = 0;
  virtual std::string text(int column) const = 0;
  virtual bool null(int column) const = 0;
  // Forgets the rows and the values that were bound.
  virtual void reset() noexcept = 0;

 protected:
  std::vector<std::string> columns_;

 private:
  const std::string sql_;
};

// A connection with its prepared statements. Only one thread may use it at a time.
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(Connection&&) noexcept = default;

  virtual std::unique_ptr<Statement> prepare(std::string_view sql) = 0;
  virtual Writers writers() const { return Writers::one; }
  // See Tx::changes().
  virtual std::int64_t changes() const = 0;
  // For Tx::nested(). Whether a statement waits that may fail.
  virtual bool has_waiting_statements() const { return false; }
  // Drops the statements that wait, but not those up to `savepoint` if that is one of them.
  virtual void forget_waiting_statements(std::string_view /*savepoint*/) {}
  // The prepared statements for this text that are unused at the moment. The reference stays valid.
  using Statements = std::vector<std::unique_ptr<Statement>>;
  Statements& statements(std::string_view sql) {
    const auto known = idle_.find(sql);
    return known != idle_.end() ? known->second : idle_[std::string(sql)];
  }

 protected:
  // An engine calls this before it closes the connection that the statements need.
  void forget_statements() { idle_.clear(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, Statements, Hash, std::equal_to<>> idle_;
};

}  // namespace berth::db
