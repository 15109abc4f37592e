#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/domain/ledger/ledger.h"

// The numbers with which rows of the ledger refer to each other, because they are shorter than
// UUIDs and texts. They mean something within one database only. Callers of the API see ids;
// cursors contain numbers as positions in lists.
namespace berth::ledger {

// A transaction's number has its time, in milliseconds, in the upper bits, and in the lower ones
// its place among the transactions of the same millisecond, from 0. So the order of the numbers is
// that of a history, and the rows of a time are found without an index of it.
inline constexpr int place_bits = 20;
inline constexpr std::int64_t places = std::int64_t(1) << place_bits;

// The least number that a transaction of this time, or a later one, can have. Times before 1970 and
// after the year 2248 count as the first and the last one that there are numbers for.
std::int64_t first_number(Instant at);
Instant time_of_number(std::int64_t number);

// A UUID as the two numbers that are stored: its upper and its lower 64 bits.
struct IdParts {
  std::int64_t high = 0;
  std::int64_t low = 0;
};
// Throws std::invalid_argument if `id` isn't a UUID.
IdParts parts_of_id(const std::string& id);
std::string id_of_parts(const IdParts& parts);
// The time of a UUIDv7 (RFC 9562, section 5.7). Ids of transactions are made from their times.
Instant time_of_id(const IdParts& parts);

// Return the number of an account, or of a kind of transactions; 0 if there is none.
std::int64_t account_number(db::Tx& tx, const Account& account);
std::int64_t kind_number(db::Tx& tx, std::string_view kind);
// Looks up the number of a kind for a transaction of it. The statement is sent together with the
// next one of the write.
class KindLookup {
 public:
  KindLookup(db::Tx& tx, std::string_view kind);
  // Returns the number, after giving the kind one if it has none. Call it once.
  std::int64_t number();

 private:
  db::Tx& tx_;
  const std::string kind_;
  std::optional<db::Query> rows_;
};

}  // namespace berth::ledger
