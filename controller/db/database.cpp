#include "controller/db/database.h"

#include <stdexcept>

#include "controller/db/failed_commits.h"

namespace berth::db {
namespace {

constexpr size_t max_idle_statements = 4;  // for one text on one connection

std::atomic<std::uint64_t> failed{0};

}  // namespace

std::uint64_t failed_commits() { return failed; }

Query::Query(Connection& connection, std::string_view sql,
             const std::optional<std::chrono::milliseconds>& most)
    : deadline_(most ? std::chrono::steady_clock::now() + *most : Deadline::max()),
      idle_(connection.statements(sql)) {
  if (idle_.empty()) {
    statement_ = connection.prepare(sql);
  } else {
    statement_ = std::move(idle_.back());
    idle_.pop_back();
  }
}

Query::~Query() {
  if (!statement_) return;
  statement_->reset();
  if (idle_.size() < max_idle_statements) idle_.push_back(std::move(statement_));
}

std::optional<std::int64_t> Query::integer_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<std::string> Query::text_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(text(column));
}
std::optional<Instant> Query::instant_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(instant(column));
}
std::optional<std::int64_t> Query::integer_or_null(std::string_view column) const {
  return integer_or_null(index_of(column));
}
std::optional<std::string> Query::text_or_null(std::string_view column) const {
  return text_or_null(index_of(column));
}
std::optional<Instant> Query::instant_or_null(std::string_view column) const {
  return instant_or_null(index_of(column));
}

int Query::index_of(std::string_view column) const {
  const std::vector<std::string>& names = statement_->columns();
  size_t i = next_column_;
  for (size_t tried = 0; tried < names.size(); ++tried, ++i) {
    if (i >= names.size()) i = 0;
    if (names[i] != column) continue;
    next_column_ = i + 1;
    return int(i);
  }
  throw std::logic_error("the statement has no column " + std::string(column) + ": " +
                         statement_->sql());
}

void Tx::throw_unserializable() {
  throw std::logic_error("this needs a serializable write (Database::write)");
}

void Database::write_for_requester(const TxWork& work, Isolation isolation) {
  Requester* const requester = Requester::of_thread();
  if (requester == nullptr) return run_write(work, isolation);
  run_write(
      [&](Tx& tx) {
        requester->records = requester->changes = false;  // of an earlier run
        tx.requester_ = requester;
        const std::int64_t before = tx.changes();
        work(tx);
        requester->changes = tx.changes() != before;
      },
      isolation);
  requester->is_recorded |= requester->records;
  requester->has_changed |= requester->changes;
}

void Database::subscribe(std::function<void(Topic, const std::string&)> subscriber) {
  subscriber_ = [before = std::move(subscriber_), next = std::move(subscriber)](
                    Topic topic, const std::string& id) {
    if (before) before(topic, id);
    next(topic, id);
  };
}

void Database::tell(const std::vector<Note>& notes) const {
  if (!subscriber_) return;
  for (const auto& [topic, id] : notes) subscriber_(topic, id);
}

void Database::count_commit(std::uint64_t writes) {
  last_commit_failed_ = false;
  ++commits_;
  writes_ += writes;
}

void Database::count_failed_commit() {
  last_commit_failed_ = true;
  ++failed;
}

bool Database::takes_writes() {
  if (!last_commit_failed_) return true;
  try {
    write([](Tx& tx) { tx.execute(write_probe, to_iso8601(tx.now())); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace berth::db
