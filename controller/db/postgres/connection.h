#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/db/engine.h"
#include "controller/db/postgres/server.h"
#include "controller/db/write_meter.h"

namespace berth::db::postgres {

// For tests: what happens instead of a statement.
enum class Fault {
  none,
  collision,    // the server refuses it with 40001, a serialization failure
  lost_before,  // the connection is lost before it is sent
  lost_after    // the connection is lost before its answer is read
};
using FaultOf = std::function<Fault(std::string_view sql)>;

struct Freer {
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Result = std::unique_ptr<PGresult, Freer>;

// The history that a server writes.
struct History {
  std::string system;         // the identifier that a database cluster gets when it is made
  std::int64_t timeline = 0;  // 0 on a standby, and if the server doesn't tell
  // Whether `other` goes on from this one or from a point before its end: a standby that takes over
  // begins a timeline with a higher number (PostgreSQL's manual, 26.3.6).
  bool is_before(const History& other) const {
    return timeline != 0 && system == other.system && timeline < other.timeline;
  }
};

// A connection to a PostgreSQL server. Only one thread may use it at a time.
class Connection final : public db::Connection {
 public:
  // Uses the first server of the address that takes the connection, and whose history isn't before
  // `newest`. Throws Unusable if there is none, and std::runtime_error if the address can't be read
  // or the password's file can't.
  explicit Connection(const Server& server, FaultOf fault = {}, const History& newest = {});
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::unique_ptr<Statement> prepare(std::string_view sql) override;
  Writers writers() const override { return Writers::many; }
  bool has_waiting_statements() const override;
  // Without a savepoint, it forgets all that wait.
  void forget_waiting_statements(std::string_view savepoint = "") override;

  // Changes a setting, such as "jit = off", for as long as the connection lasts. Call this between
  // transactions: the end of one may take it back. It may take `most`, or some seconds if that is
  // empty. No test's fault comes here, because SET can't collide.
  void set(const std::string& setting, const std::optional<std::chrono::milliseconds>& most = {});
  // Has the server stop each statement that takes longer than `most`, or none if it is empty. If
  // that is a change, this is set().
  void limit_statements(const std::optional<std::chrono::milliseconds>& most);

  // Begins a transaction with these statements, which wait until the next one is run, and drops
  // what is left of the transaction before. The last of them returns a row, or its result doesn't
  // matter. If there are none, each statement that follows is a transaction of its own.
  void begin(std::vector<std::string> statements);
  // has_begun() returns whether these statements were run or, if there are none, any statement
  // since begin(). run_waiting() sends the statements that wait. begun() returns the first column
  // of the row of the last statement of begin().
  bool has_begun() const { return begun_.has_value(); }
  void run_waiting(Deadline deadline);
  const std::string& begun() const { return *begun_; }
  // Adds a statement without rows and parameters to those that wait.
  void run_later(std::string sql) { waiting_.push_back({.sql = std::move(sql)}); }

  std::int64_t changes() const override { return changes_; }
  // Counts rows that a statement has changed, or one for a statement that may have.
  void note_changed(std::int64_t rows) { changes_ += rows; }
  // What statements have stored since the last call.
  Written take_written() { return std::exchange(written_, {}); }
  void note_written(const Written& more) { written_ += more; }

  // Runs statements that have no parameters, in one round trip. If other statements wait, they are
  // sent with it, and `sql` must be a single statement (PostgreSQL's manual, 34.5, pipeline mode).
  // Returns the last one's result. The server stops statements that reach their deadline by itself;
  // if no result comes within a grace period after it, the server hangs, and the connection counts
  // as lost.
  Result run(const std::string& sql, Deadline deadline = Deadline::max());
  // Sends a statement without parameters that ends the transaction. Doesn't wait for its answer,
  // which the next statement discards. Drops the statements that wait.
  void send(const std::string& sql) noexcept;
  // For a statement that was sent: waits for its answer for at most `most`, and returns whether
  // answer() would return at once.
  bool is_answered(std::chrono::milliseconds most);
  Result answer();
  // The first column of the first row; empty if there is none.
  std::string text(const std::string& sql, Deadline deadline = Deadline::max());

  // Runs COPY … FROM STDIN. `more` appends whole lines to its argument, which is empty each time,
  // until it returns false. What it throws rolls the statement back and is passed on.
  void copy_in(const std::string& sql, const std::function<bool(std::string& lines)>& more);
  // Runs COPY … TO STDOUT. `take` is called with each line, whose newline is cut off. If it throws,
  // the connection is of no use any more.
  void copy_out(const std::string& sql, const std::function<void(std::string_view line)>& take);

  // The text as a literal for run(), which takes no parameters.
  std::string quoted(const std::string& text) const;

  // Listens on the channel (LISTEN), whose name is an identifier.
  void listen(const std::string& channel, Deadline deadline);
  // Returns what other connections have sent to the channels that this one listens on, as far as it
  // has arrived. Throws Unusable if the connection is lost. To wait for more, poll socket().
  std::vector<std::string> heard();
  int socket() const { return PQsocket(connection_.get()); }

  // Shuts the socket down, so that a thread that waits for an answer gets an error. May be called
  // by any thread while the object exists.
  void cut() const noexcept;

  // Whether the connection is of no use any more.
  bool is_lost() const { return lost_ || PQstatus(connection_.get()) != CONNECTION_OK; }
  // Whether a transaction is open, and no statement is running.
  bool is_in_transaction() const {
    const PGTransactionStatusType status = PQtransactionStatus(connection_.get());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
  }
  // Whether a statement of the present transaction had a serialization failure or a deadlock, or
  // didn't make the change that it has to make (Wanted::one_change).
  bool has_collided() const { return collided_; }
  // Returns the exception of a statement of the present transaction that failed, unless it was
  // rolled back to a savepoint; otherwise null.
  std::exception_ptr failure() const;
  // Whether the server has warned of anything since the transaction began.
  bool was_warned() const { return warned_; }
  void forget_warnings() { warned_ = false; }

  // Identifies one run of one server. Only within the same run does pg_xact_status() tell about
  // earlier transactions: after a crash, and on a standby that took over, the number of a
  // transaction that left no trace is given out again.
  const std::string& incarnation() const { return incarnation_; }
  const History& history() const { return history_; }

  // Below: for prepared statements.
  struct Prepared {
    std::string name;
    std::vector<Oid> types;  // the types of the parameters
  };
  using Variants = std::vector<Prepared>;
  // Runs a statement. The values of NULLs are null pointers.
  Result run(const std::string& sql, Variants& variants, const std::vector<Oid>& types,
             const std::vector<const char*>& values, Deadline deadline);
  Variants& variants_of(const std::string& sql) { return variants_[sql]; }
  // Adds a statement to those that wait. Its result is moved to `answer` when it has run, unless
  // that is null.
  void run_later(const std::string& sql, Variants& variants, const std::vector<Oid>& types,
                 const std::vector<const char*>& values, Deadline deadline,
                 Result* answer = nullptr);
  // Drops the waiting statement whose result would be moved to `answer`, if there is one.
  void forget_waiting_statement(const Result& answer) noexcept;

 private:
  // A statement that is sent together with the next one that doesn't wait.
  struct Waiting {
    std::string sql;
    std::string prepared = {};  // its name; empty if the text itself is sent
    std::vector<std::optional<std::string>> values = {};
    enum class Kind { begins, last_that_begins, savepoint, other } kind = Kind::other;
    Result* answer = nullptr;  // where its result is wanted
  };
  void settle();
  void close_socket();
  static Waiting waiting(const std::string& sql, const Prepared& prepared,
                         const std::vector<const char*>& values);
  void forget_failures();
  bool send_one(const Waiting& one, bool collides);
  Result run_with_waiting(std::optional<Waiting> last, Deadline deadline);
  void discard_answers(Deadline deadline);
  Fault fault_before(std::string_view sql);
  // The next result of what was sent; null after the last one.
  Result next_result(Deadline deadline);
  void begin_copy(const std::string& sql, ExecStatusType direction);
  Result answered(Fault fault, bool sent, std::string_view sql, Deadline deadline);
  Result checked(Result result, std::string_view sql, Deadline deadline);
  const Prepared& variant(const std::string& sql, Variants& variants, const std::vector<Oid>& types,
                          Deadline deadline);

  std::unique_ptr<PGconn, Freer> connection_;
  // The same socket by a number of its own, because libpq closes its own when it finds an error.
  int socket_ = -1;
  const FaultOf fault_;
  std::unordered_map<std::string, Variants> variants_;
  std::uint64_t names_ = 0;  // given out so far
  std::vector<Waiting> waiting_;
  std::optional<std::string> begun_;
  std::optional<std::chrono::milliseconds> statement_limit_;  // what the server was told
  std::int64_t changes_ = 0;
  Written written_;
  bool lost_ = false;
  bool collided_ = false;
  bool warned_ = false;
  std::exception_ptr failure_;
  std::string incarnation_;
  History history_;
  int backend_ = 0;  // the server's process for this connection, if it listens
};

}  // namespace berth::db::postgres
