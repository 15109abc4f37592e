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

// Another write has changed what a write with row locks (Database::write_with_row_locks) had read,
// before that could lock the row: it is rolled back and retried. Code throws this when a change
// that should have been possible changes no row. On an engine without concurrent writes it is a
// defect, and nobody catches it.
struct Overtaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A statement that reaches this time is stopped and throws TooSlow; max() means never.
using Deadline = std::chrono::steady_clock::time_point;

enum class ValueKind { integer, text, unknown };

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
  // Runs a statement that returns no rows, at the latest together with the transaction's next
  // statement, which then throws what this one would have thrown.
  virtual void run_later(Deadline deadline) { run(deadline); }
  // Lets the statement run together with the transaction's next one, if that saves a round trip;
  // next() then returns its rows. The next one may throw what this one would have thrown.
  virtual void send_ahead(Deadline /*deadline*/) {}
  // Values of the present row, by the numbers of their columns, counted from 0. NULL reads as 0 or
  // "".
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
  // See Tx::writers_collide().
  virtual bool writers_collide() const { return false; }
  // For Tx::nested(): whether a statement that may fail was given to run_later() and still waits.
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
