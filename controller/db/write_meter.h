#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::db {

// About how much a write makes the database grow.
struct Written {
  std::int64_t bytes = 0;
  std::int64_t rows = 0;  // how many rows were inserted
  Written& operator+=(const Written& other) {
    bytes += other.bytes;
    rows += other.rows;
    return *this;
  }
};

// Adds up what the writes of its thread have stored since it was made; writes that failed or were
// rolled back don't count. Of several such objects on a thread, the innermost counts, and the one
// around it gets its sum at its end. It has to be destroyed by the thread that created it.
class WriteMeter {
 public:
  WriteMeter();
  ~WriteMeter();
  WriteMeter(const WriteMeter&) = delete;
  WriteMeter& operator=(const WriteMeter&) = delete;

  const Written& total() const { return total_; }

  // For the engines: adds to the innermost meter of the calling thread, if it has one.
  static void add(const Written& written);

 private:
  WriteMeter* const outer_;
  Written total_;
};

// For the engines: reckons what a statement stores from the values that are bound to it. A row that
// is inserted counts for a head and twice the texts that were bound: once in the table, and once
// more for its indexes and the room that pages leave free. An entry of the audit log counts for
// more copies, because it consists of ids that almost all have an index. A row that is changed
// counts for its long texts only, because ids, states and numbers don't make it longer. Rows that
// are deleted, and those that triggers write, count for nothing.
class StatementCost {
 public:
  static constexpr std::int64_t bytes_of_head = 40;
  static constexpr std::int64_t copies_of_text = 2;
  // 3,000 entries as the gate writes them, with 254 bytes of text each, took 810 bytes each, and
  // 896 once they had their places in the chain.
  static constexpr std::int64_t copies_in_audit_log = 4;
  // A text of more bytes makes a row that is changed longer.
  static constexpr std::size_t short_text = 64;

  explicit StatementCost(std::string_view sql);

  void bind(std::string_view text) {
    bound_ += std::int64_t(text.size());
    if (text.size() > short_text) bound_long_ += std::int64_t(text.size());
  }
  void forget_values() { bound_ = bound_long_ = 0; }
  // Returns what a run with these values has stored that changed this number of rows.
  Written of_run(std::int64_t changed) const;

 private:
  enum class Kind { inserts, updates, other } kind_;
  std::int64_t copies_ = copies_of_text;
  std::int64_t bound_ = 0;
  std::int64_t bound_long_ = 0;
};

}  // namespace berth::db
