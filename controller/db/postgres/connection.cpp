#include "controller/db/postgres/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/db/postgres/failure.h"
#include "controller/db/request_limits.h"

namespace berth::db::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The server itself stops a statement at its deadline. If there is no answer this long after it,
// the server hangs or the network is down.
constexpr milliseconds grace{1'000};

constexpr Oid type_bigint = 20, type_text = 25;  // pg_type.dat; they never change

// Defaults, which the address may override. With these, a server that is cut off is noticed within
// half a minute.
constexpr std::array<std::pair<const char*, const char*>, 7> defaults = {{
    {"fallback_application_name", "berthd"},
    {"connect_timeout", "5"},  // seconds, for each host
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "20000"},  // milliseconds
    {"target_session_attrs", "read-write"},
}};

// These are set by statements, because a connection pooler may refuse them as parameters of the
// connection. A transaction whose client has vanished ends after
// idle_in_transaction_session_timeout, so it doesn't hold its locks for long. The just-in-time
// compiler is off, because it takes longer than the short statements here take to run.
constexpr const char* settings =
    "SET client_min_messages = warning; SET idle_in_transaction_session_timeout = '60s'; "
    "SET jit = off";

// stats_reset changes when the server recovers from a crash, even if only one of its processes
// crashed and the postmaster survived. If somebody resets the statistics by hand, one write gets
// the answer that its outcome is unknown.
constexpr const char* incarnation_sql =
    "SELECT pg_postmaster_start_time()::text || ' ' || coalesce(stats_reset::text, '') "
    "FROM pg_stat_bgwriter";

// The name of a WAL file begins with the timeline's number, in 8 hexadecimal digits.
constexpr const char* history_sql =
    "SELECT CASE WHEN pg_is_in_recovery() THEN '0' "
    "ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS timeline, system_identifier "
    "FROM pg_control_system()";

// How long the first statements of a connection may take.
constexpr milliseconds settings_time{4'000};

// How many statements may be queued. Nobody reads their answers until the last one is sent, so
// these have to fit into the connection's buffers.
constexpr size_t max_waiting_statements = 64;

// Around a statement that has to change exactly one row. If it doesn't, the server divides by 0,
// and runs nothing of what was sent after it, such as COMMIT. So nobody waits for the number of
// rows.
const std::string one_change_begin = "WITH one_change AS (";
const std::string one_change_end =
    " RETURNING 1) SELECT 1 / CASE WHEN count(*) = 1 THEN 1 ELSE 0 END FROM one_change";
constexpr const char* division_by_zero = "22012";

constexpr const char* raise_collision =
    "DO $$ BEGIN RAISE EXCEPTION 'a test''s collision' USING ERRCODE = '40001'; END $$";

std::string password_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty())
    throw std::runtime_error("the file with the database's password can't be read, or is empty: " +
                             path.string());
  if (line.back() == '\r') line.pop_back();
  return line;
}

// libpq's own message may quote a part of the address, such as a password.
void require_readable(const std::string& address) {
  try {
    parse_address(address);
  } catch (const std::invalid_argument& allowed) {
    throw std::runtime_error(std::string("the database's address can't be read; it must be ") +
                             allowed.what());
  }
}

std::unique_ptr<PGconn, Freer> connected_to(const Place& place, const Server& server,
                                            const std::string& password) {
  std::vector<const char*> names, values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  const auto add_if_known = [&](const char* name, const std::string& value) {
    if (!value.empty()) add(name, value.c_str());
  };
  for (const auto& [name, value] : defaults) add(name, value);
  add("dbname", server.address.c_str());  // the address's parameters override those before it
  add_if_known("host", place.host);
  add_if_known("hostaddr", place.hostaddr);
  add_if_known("port", place.port);
  add("client_encoding", "UTF8");
  if (server.password_file) add("password", password.c_str());
  add(nullptr, nullptr);
  std::unique_ptr<PGconn, Freer> connection(PQconnectdbParams(names.data(), values.data(), 1));
  if (!connection) throw std::bad_alloc();
  return connection;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string state_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

// Classes and codes of appendix A that say that the server is of no use at the moment: 08 the
// connection, 53 resources, 57P it is starting or shutting down, 58 the system, 25006 it is a
// standby.
bool is_environmental(std::string_view state) {
  return state.empty() || state.starts_with("08") || state.starts_with("53") ||
         state.starts_with("57P") || state.starts_with("58") || state == "25006";
}
bool is_collision(std::string_view state) { return state == "40001" || state == "40P01"; }

// PostgreSQL can store neither invalid UTF-8 nor NUL. It would end the transaction with an error of
// its own.
void require_text(std::string_view text) {
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    throw Error(Code::validation_failed, "a text isn't UTF-8, or has the character NUL in it");
}

class PreparedStatement final : public Statement {
 public:
  PreparedStatement(Connection& connection, Connection::Variants& variants, std::string_view sql)
      : Statement(sql), connection_(connection), variants_(variants), cost_(sql) {}

  void bind(int number, std::int64_t value) override {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    set(number, type_bigint, std::string_view(digits.data(), end));
  }
  void bind(int number, std::string_view value) override {
    require_text(value);
    set(number, type_text, value);
    cost_.bind(value);
  }
  void bind_null(int number, ValueKind kind) override {
    const Oid type = kind == ValueKind::unknown ? 0
                     : kind == ValueKind::text  ? type_text
                                                : type_bigint;
    set(number, type, {});
  }

  bool next(Deadline deadline) override {
    if (row_ < 0) fetch(deadline);
    return ++row_ < PQntuples(result_.get());
  }
  int run(Deadline deadline) override {
    if (!is_ahead_) result_.reset();
    wait_or_execute(deadline);
    is_ahead_ = false;
    if (PQntuples(result_.get()) > 0)
      throw std::logic_error("rows of this statement are ignored: " + sql());
    const int changed = parse_number<int>(PQcmdTuples(result_.get())).value_or(0);
    connection_.note_written(cost_.of_run(changed));
    connection_.note_changed(changed);
    return changed;
  }

  void may_wait(Deadline deadline, Wanted wanted) override {
    set_values();
    switch (wanted) {
      case Wanted::nothing:
        connection_.run_later(sql(), variants_, types_, values_, deadline);
        connection_.note_written(cost_.of_run(1));
        if (!is_of_savepoint()) connection_.note_changed(1);
        break;
      case Wanted::one_change:
        if (checked_sql_.empty()) checked_sql_ = one_change_begin + sql() + one_change_end;
        connection_.run_later(checked_sql_, connection_.variants_of(checked_sql_), types_, values_,
                              deadline);
        connection_.note_written(cost_.of_run(1));
        connection_.note_changed(1);
        break;
      case Wanted::rows:
        connection_.run_later(sql(), variants_, types_, values_, deadline, &result_);
        is_ahead_ = true;
    }
  }

  std::int64_t integer(int column) const override {
    if (null(column)) return 0;
    const auto number = parse_number<std::int64_t>(value(column));
    if (!number) throw not_an_integer(sql(), columns_, column);
    return *number;
  }
  std::string text(int column) const override { return std::string(value(column)); }
  bool null(int column) const override { return PQgetisnull(result_.get(), row_, column) != 0; }

  void reset() noexcept override {
    if (std::exchange(is_ahead_, false)) connection_.forget_waiting_statement(result_);
    result_.reset();
    row_ = -1;
    types_.clear();
    cost_.forget_values();
  }

 private:
  void set(int number, Oid type, std::optional<std::string_view> value) {
    const auto index = size_t(number) - 1;
    if (types_.size() <= index) types_.resize(index + 1);
    if (texts_.size() <= index) texts_.resize(index + 1);
    types_[index] = type;
    texts_[index].is_null = !value;
    if (value) texts_[index].text.assign(*value);
  }

  void set_values() {
    values_.clear();
    for (size_t i = 0; i < types_.size(); ++i)
      values_.push_back(texts_[i].is_null ? nullptr : texts_[i].text.c_str());
  }

  void execute(Deadline deadline) {
    set_values();
    result_ = connection_.run(sql(), variants_, types_, values_, deadline);
    row_ = -1;
  }

  // Makes sure that there is a result: that of a statement that waited, or one of a new run.
  void wait_or_execute(Deadline deadline) {
    if (is_ahead_ && !result_) connection_.run_waiting(deadline);
    if (!result_) execute(deadline);
  }

  // Whether it is what Tx::nested() runs.
  bool is_of_savepoint() const {
    return sql().starts_with("SAVEPOINT") || sql().starts_with("RELEASE");
  }

  void fetch(Deadline deadline) {
    wait_or_execute(deadline);
    connection_.note_written(cost_.of_run(PQntuples(result_.get())));
    if (!std::string_view(PQcmdStatus(result_.get())).starts_with("SELECT"))
      connection_.note_changed(PQntuples(result_.get()));
    if (columns_.empty())
      for (int i = 0; i < PQnfields(result_.get()); ++i)
        columns_.emplace_back(PQfname(result_.get(), i));
  }

  std::string_view value(int column) const {
    return {PQgetvalue(result_.get(), row_, column),
            size_t(PQgetlength(result_.get(), row_, column))};
  }

  // Kept from run to run, so that their memory is used again.
  struct Text {
    std::string text;
    bool is_null = true;
  };
  Connection& connection_;
  Connection::Variants& variants_;
  StatementCost cost_;
  std::vector<Oid> types_;
  std::vector<Text> texts_;
  std::vector<const char*> values_;
  Result result_;
  bool is_ahead_ = false;    // what was sent, or waits, is for the rows to come
  std::string checked_sql_;  // see one_change_begin; empty until it is needed
  int row_ = -1;
};

}  // namespace

// Tries the servers of the address one after the other. libpq would do that, too, but stops at a
// server that accepts the connection and closes it, as a proxy without a backend does.
Connection::Connection(const Server& server, FaultOf fault, const History& newest)
    : fault_(std::move(fault)) {
  require_readable(server.address);
  const std::string password = server.password_file ? password_in(*server.password_file) : "";
  std::string why;
  for (const Place& place : places_of(server.address)) {
    lost_ = false;
    connection_ = connected_to(place, server, password);
    if (is_lost()) {
      why += PQerrorMessage(connection_.get());
      continue;
    }
    try {
      settle();
    } catch (const Unusable& failure) {
      why.append(failure.what()).append("\n");
      continue;
    }
    if (!history_.is_before(newest)) return;
    why.append(replaced).append("\n");
  }
  close_socket();
  throw Unusable(std::string(trimmed(why)));
}

// What every connection begins with.
void Connection::settle() {
  PQsetNoticeReceiver(
      connection_.get(),
      [](void* warned, const PGresult* notice) {
        *static_cast<bool*>(warned) = true;
        log::warning("PostgreSQL warns", {{"warning", trimmed(PQresultErrorMessage(notice))}});
      },
      &warned_);
  // Details of an error quote rows, which aren't for the log.
  PQsetErrorVerbosity(connection_.get(), PQERRORS_TERSE);
  close_socket();
  socket_ = ::dup(PQsocket(connection_.get()));
  const auto until = steady_clock::now() + settings_time;
  run(settings, until);
  incarnation_ = text(incarnation_sql, until);
  history_ = {};
  try {
    const Result row = run(history_sql, until);
    history_ = {.system = PQgetvalue(row.get(), 0, 1),
                .timeline = std::stoll(PQgetvalue(row.get(), 0, 0), nullptr, 16)};
  } catch (const Failure&) {
    // A service that resembles PostgreSQL may lack these functions.
  }
}

void Connection::close_socket() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

Connection::~Connection() {
  forget_statements();
  close_socket();
}

std::string Connection::quoted(const std::string& text) const {
  char* literal = PQescapeLiteral(connection_.get(), text.data(), text.size());
  if (literal == nullptr) throw Unusable(std::string(trimmed(PQerrorMessage(connection_.get()))));
  std::string quoted = literal;
  PQfreemem(literal);
  return quoted;
}

void Connection::listen(const std::string& channel, Deadline deadline) {
  run("LISTEN " + channel, deadline);
  // If a pooler is in between, PQbackendPID() returns a number that the pooler has made up.
  backend_ = std::stoi(text("SELECT pg_backend_pid()::text", deadline));
}

std::vector<std::string> Connection::heard() {
  if (PQconsumeInput(connection_.get()) == 0)
    throw Unusable(std::string(trimmed(PQerrorMessage(connection_.get()))));
  std::vector<std::string> payloads;
  while (PGnotify* one = PQnotifies(connection_.get())) {
    if (one->be_pid != backend_) payloads.emplace_back(one->extra);
    PQfreemem(one);
  }
  return payloads;
}

void Connection::cut() const noexcept { ::shutdown(socket_, SHUT_RDWR); }

std::unique_ptr<Statement> Connection::prepare(std::string_view sql) {
  return std::make_unique<PreparedStatement>(*this, variants_[std::string(sql)], sql);
}

void Connection::forget_failures() {
  collided_ = warned_ = false;
  failure_ = nullptr;
}

std::exception_ptr Connection::failure() const {
  return PQtransactionStatus(connection_.get()) == PQTRANS_INERROR ? failure_ : nullptr;
}

void Connection::discard_answers(Deadline deadline) {
  while (next_result(deadline)) {
  }
}

Fault Connection::fault_before(std::string_view sql) {
  const Fault fault = fault_ ? fault_(sql) : Fault::none;
  if (fault == Fault::lost_before) {
    ::shutdown(PQsocket(connection_.get()), SHUT_RDWR);
    lost_ = true;
    throw Unusable("the connection was lost by a test");
  }
  return fault;
}

bool Connection::is_answered(milliseconds most) {
  const auto until = steady_clock::now() + most;
  while (PQisBusy(connection_.get()) == 1) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd waiting = {.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || waiting.fd < 0) return waiting.fd < 0;
    if (::poll(&waiting, 1, int(left.count())) > 0 && PQconsumeInput(connection_.get()) == 0)
      return true;  // the connection is lost, and the next result says so
  }
  return true;
}

Result Connection::next_result(Deadline deadline) {
  if (deadline != Deadline::max()) {
    const auto left = deadline + grace - steady_clock::now();
    if (!is_answered(std::max(milliseconds(0), std::chrono::ceil<milliseconds>(left)))) {
      lost_ = true;
      throw Unusable("the server doesn't answer");
    }
  }
  return Result(PQgetResult(connection_.get()));
}

Result Connection::answer() { return answered(Fault::none, true, "", Deadline::max()); }

// Returns the last result of what was sent.
Result Connection::answered(Fault fault, bool sent, std::string_view sql, Deadline deadline) {
  if (sent && fault == Fault::lost_after) {
    while (PQflush(connection_.get()) == 1) {
    }
    ::shutdown(PQsocket(connection_.get()), SHUT_RDWR);
    lost_ = true;
    throw Unusable("the connection was lost by a test");
  }
  Result last;
  while (Result next = next_result(deadline)) {
    last = std::move(next);
    if (PQresultStatus(last.get()) == PGRES_FATAL_ERROR) break;
  }
  if (last) discard_answers(deadline);
  return checked(std::move(last), sql, deadline);
}

void Connection::set(const std::string& setting, const std::optional<milliseconds>& most) {
  const std::string sql = "SET " + setting;
  const Deadline until = steady_clock::now() + most.value_or(settings_time);
  waiting_.clear();
  discard_answers(until);
  const bool sent = PQsendQuery(connection_.get(), sql.c_str()) == 1;
  answered(Fault::none, sent, sql, until);
}

void Connection::limit_statements(const std::optional<milliseconds>& most) {
  if (most == statement_limit_) return;
  set("statement_timeout = " + std::to_string(most ? most->count() : 0), most);
  statement_limit_ = most;
}

void Connection::begin(std::vector<std::string> statements) {
  forget_failures();
  waiting_.clear();
  begun_.reset();
  const Deadline until = steady_clock::now() + statement_limit_.value_or(settings_time);
  std::vector<Waiting> all;  // variant() would send the queued statements
  for (std::string& sql : statements) {
    std::string prepared = variant(sql, variants_[sql], {}, until).name;
    all.push_back(
        {.sql = std::move(sql), .prepared = std::move(prepared), .kind = Waiting::Kind::begins});
  }
  if (!all.empty()) all.back().kind = Waiting::Kind::last_that_begins;
  waiting_ = std::move(all);
}

bool Connection::has_waiting_statements() const {
  return std::ranges::any_of(waiting_,
                             [](const Waiting& one) { return one.kind == Waiting::Kind::other; });
}

void Connection::forget_waiting_statements(std::string_view savepoint) {
  while (!waiting_.empty() && waiting_.back().sql != savepoint) waiting_.pop_back();
}

void Connection::run_waiting(Deadline deadline) {
  if (!waiting_.empty()) run_with_waiting({}, deadline);
}

bool Connection::send_one(const Waiting& one, bool collides) {
  if (collides || one.prepared.empty()) {
    const char* sql = collides ? raise_collision : one.sql.c_str();
    return PQsendQueryParams(connection_.get(), sql, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  }
  std::vector<const char*> values;
  values.reserve(one.values.size());
  for (const auto& value : one.values) values.push_back(value ? value->c_str() : nullptr);
  return PQsendQueryPrepared(connection_.get(), one.prepared.c_str(), int(values.size()),
                             values.data(), nullptr, nullptr, 0) == 1;
}

// Sends the waiting statements, followed by `last`, in one round trip. Returns the result of the
// last one. Throws the failure of the first statement that fails; the server skips the statements
// after it.
Result Connection::run_with_waiting(std::optional<Waiting> last, Deadline deadline) {
  std::vector<Waiting> all = std::exchange(waiting_, {});
  if (last) all.push_back(std::move(*last));
  discard_answers(deadline);
  bool sent = PQenterPipelineMode(connection_.get()) == 1;
  for (const Waiting& one : all) {
    const Fault fault = fault_before(one.sql);
    sent = sent && send_one(one, fault == Fault::collision);
    if (fault != Fault::lost_after) continue;
    PQpipelineSync(connection_.get());
    return answered(fault, sent, one.sql, deadline);
  }
  if (!sent || PQpipelineSync(connection_.get()) != 1) {
    lost_ = true;
    throw Unusable(std::string(trimmed(PQerrorMessage(connection_.get()))));
  }
  Result result, failed;
  std::string_view failed_sql;
  for (const Waiting& one : all) {
    if (failed_sql.data() != nullptr) break;
    result = next_result(deadline);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      failed.swap(result);
      failed_sql = one.sql;
    } else {
      if (one.kind == Waiting::Kind::last_that_begins)
        begun_ = PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
      while (next_result(deadline)) {
      }
      if (one.answer != nullptr) one.answer->swap(result);
    }
  }
  // What remains are the answers of the skipped statements and the end of the pipeline. One null
  // ends the results of a statement; after a second one nothing comes any more, which happens when
  // the server has crashed.
  bool is_at_end = false;
  for (int nulls = 0; nulls < 2 && !is_at_end && PQstatus(connection_.get()) == CONNECTION_OK;) {
    const Result one = next_result(deadline);
    is_at_end = PQresultStatus(one.get()) == PGRES_PIPELINE_SYNC;
    nulls = one ? 0 : nulls + 1;
  }
  if (!is_at_end || PQstatus(connection_.get()) != CONNECTION_OK ||
      PQexitPipelineMode(connection_.get()) != 1) {
    lost_ = true;
    throw Unusable(std::string(trimmed(PQerrorMessage(connection_.get()))));
  }
  if (failed_sql.data() != nullptr) return checked(std::move(failed), failed_sql, deadline);
  if (!begun_) begun_.emplace();
  return result;
}

Result Connection::run(const std::string& sql, Deadline deadline) {
  if (!waiting_.empty()) return run_with_waiting(Waiting{.sql = sql}, deadline);
  const Fault fault = fault_before(sql);
  discard_answers(deadline);
  const std::string& text = fault == Fault::collision ? raise_collision : sql;
  const bool sent = PQsendQuery(connection_.get(), text.c_str()) == 1;
  return answered(fault, sent, sql, deadline);
}

void Connection::send(const std::string& sql) noexcept {
  if (!std::exchange(waiting_, {}).empty() && !is_in_transaction()) return;  // nothing has begun
  discard_answers(Deadline::max());
  if (PQsendQuery(connection_.get(), sql.c_str()) != 1) lost_ = true;
}

// Starts a COPY and waits for the server's answer that rows can be sent or will follow.
void Connection::begin_copy(const std::string& sql, ExecStatusType direction) {
  discard_answers(Deadline::max());
  PQsendQuery(connection_.get(), sql.c_str());
  Result begun(PQgetResult(connection_.get()));
  if (PQresultStatus(begun.get()) == direction) return;
  discard_answers(Deadline::max());
  checked(std::move(begun), sql, Deadline::max());
  throw std::logic_error("the statement is no COPY: " + sql);
}

void Connection::copy_in(const std::string& sql,
                         const std::function<bool(std::string& lines)>& more) {
  begin_copy(sql, PGRES_COPY_IN);
  std::exception_ptr failure;
  try {
    // If the server refuses a row, sending fails, and the answer has the reason.
    for (std::string lines; more(lines); lines.clear())
      if (PQputCopyData(connection_.get(), lines.data(), int(lines.size())) != 1) break;
  } catch (...) {
    failure = std::current_exception();
  }
  PQputCopyEnd(connection_.get(), failure ? "the rows can't be read" : nullptr);
  try {
    answered(Fault::none, true, sql, Deadline::max());
  } catch (...) {
    if (!failure) throw;
  }
  if (failure) std::rethrow_exception(failure);
}

void Connection::copy_out(const std::string& sql,
                          const std::function<void(std::string_view line)>& take) {
  begin_copy(sql, PGRES_COPY_OUT);
  char* text = nullptr;
  for (int length = 0; (length = PQgetCopyData(connection_.get(), &text, 0)) > 0;) {
    const std::unique_ptr<char, decltype(&PQfreemem)> line(text, PQfreemem);
    try {
      take(std::string_view(text, size_t(length) - 1));
    } catch (...) {
      lost_ = true;
      throw;
    }
  }
  answered(Fault::none, true, sql, Deadline::max());
}

std::string Connection::text(const std::string& sql, Deadline deadline) {
  const Result result = run(sql, deadline);
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

const Connection::Prepared& Connection::variant(const std::string& sql, Variants& variants,
                                                const std::vector<Oid>& types, Deadline deadline) {
  for (const Prepared& known : variants)
    if (known.types == types) return known;
  run_waiting(deadline);
  discard_answers(deadline);
  std::string name = "s" + std::to_string(names_ + 1);
  const bool sent = PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), int(types.size()),
                                  types.data()) == 1;
  answered(Fault::none, sent, sql, deadline);
  ++names_;
  return variants.emplace_back(std::move(name), types);
}

Connection::Waiting Connection::waiting(const std::string& sql, const Prepared& prepared,
                                        const std::vector<const char*>& values) {
  Waiting one{.sql = sql, .prepared = prepared.name};
  one.values.reserve(values.size());
  for (const char* value : values)
    one.values.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
  if (sql.starts_with("SAVEPOINT") || sql.starts_with("RELEASE"))
    one.kind = Waiting::Kind::savepoint;
  return one;
}

void Connection::run_later(const std::string& sql, Variants& variants,
                           const std::vector<Oid>& types, const std::vector<const char*>& values,
                           Deadline deadline, Result* answer) {
  if (waiting_.size() >= max_waiting_statements) run_waiting(deadline);
  const Prepared& prepared = variant(sql, variants, types, deadline);
  waiting_.push_back(waiting(sql, prepared, values));
  waiting_.back().answer = answer;
}

void Connection::forget_waiting_statement(const Result& answer) noexcept {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.answer == &answer; });
}

Result Connection::run(const std::string& sql, Variants& variants, const std::vector<Oid>& types,
                       const std::vector<const char*>& values, Deadline deadline) {
  if (!waiting_.empty()) {
    const Prepared& prepared = variant(sql, variants, types, deadline);
    return run_with_waiting(waiting(sql, prepared, values), deadline);
  }
  const Fault fault = fault_before(sql);
  discard_answers(deadline);
  if (fault == Fault::collision)
    checked(Result(PQexec(connection_.get(), raise_collision)), sql, deadline);
  const Prepared& prepared = variant(sql, variants, types, deadline);
  const bool sent =
      PQsendQueryPrepared(connection_.get(), prepared.name.c_str(), int(values.size()),
                          values.data(), nullptr, nullptr, 0) == 1;
  Result result = answered(fault, sent, sql, deadline);
  if (!begun_) begun_.emplace();
  return result;
}

// Returns the result if it isn't an error. Otherwise throws what the error means.
Result Connection::checked(Result result, std::string_view sql, Deadline deadline) {
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY)
    return result;
  const std::string state = state_of(result.get());
  const std::string what(
      trimmed(result ? PQresultErrorMessage(result.get()) : PQerrorMessage(connection_.get())));
  try {
    if (is_collision(state)) {
      collided_ = true;
      throw Collision(what);
    }
    if (is_environmental(state) || PQstatus(connection_.get()) != CONNECTION_OK) {
      lost_ = true;
      throw Unusable(what);
    }
    if (state == "57014" && deadline != Deadline::max()) {
      log::warning("a statement took too long and was stopped", {{"sql", sql}});
      throw too_slow("a statement took too long");
    }
    if (state.starts_with("23")) throw ConstraintViolated(what);
    if (state == division_by_zero && sql.starts_with(one_change_begin)) {
      collided_ = true;
      throw Overtaken(overtaken_by(std::string(sql)));
    }
    throw Failure(what, state);
  } catch (...) {
    // After the first failure, the server refuses each statement with 25P02
    // (in_failed_sql_transaction) until the transaction is rolled back, at least to a savepoint.
    if (state != "25P02") failure_ = std::current_exception();
    throw;
  }
}

}  // namespace berth::db::postgres
