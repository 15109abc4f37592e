#include "controller/domain/ledger/numbers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <stdexcept>

#include "controller/base/id.h"

namespace berth::ledger {
namespace {

constexpr std::int64_t last_millisecond = (std::int64_t(1) << (63 - place_bits)) - 1;
// The bits that follow the time in the upper half of a UUIDv7.
constexpr int bits_after_time = 16;

std::uint64_t half(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

void append_hex(std::string& text, std::int64_t value) {
  static constexpr std::string_view digits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4)
    text += digits[std::bit_cast<std::uint64_t>(value) >> shift & 0xf];
}

constexpr std::string_view find_kind = R"(SELECT number FROM ledger_kinds WHERE kind = $1)";

}  // namespace

std::int64_t first_number(Instant at) {
  return std::clamp<std::int64_t>(to_millis(at), 0, last_millisecond) << place_bits;
}

Instant time_of_number(std::int64_t number) { return from_millis(number >> place_bits); }

IdParts parts_of_id(const std::string& id) {
  if (!is_uuid(id)) throw std::invalid_argument("\"" + id + "\" isn't a UUID");
  std::string digits = id;
  std::erase(digits, '-');
  const std::string_view all = digits;
  return {.high = std::bit_cast<std::int64_t>(half(all.substr(0, 16))),
          .low = std::bit_cast<std::int64_t>(half(all.substr(16)))};
}

std::string id_of_parts(const IdParts& parts) {
  std::string id;
  append_hex(id, parts.high);
  append_hex(id, parts.low);
  for (const size_t hyphen : {8, 13, 18, 23}) id.insert(hyphen, "-");
  return id;
}

Instant time_of_id(const IdParts& parts) {
  return from_millis(
      static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(parts.high) >> bits_after_time));
}

std::int64_t account_number(db::Tx& tx, const Account& account) {
  return tx.number(R"(SELECT number FROM ledger_accounts WHERE id = $1)", account.id());
}

std::int64_t kind_number(db::Tx& tx, std::string_view kind) { return tx.number(find_kind, kind); }

KindLookup::KindLookup(db::Tx& tx, std::string_view kind)
    : tx_(tx), kind_(kind), rows_(tx.query_later(find_kind, kind)) {}

std::int64_t KindLookup::number() {
  const std::int64_t known = rows_->next() ? rows_->integer("number") : 0;
  rows_.reset();
  if (known > 0) return known;
  return tx_.number(R"(
      INSERT INTO ledger_kinds (number, kind)
      VALUES (coalesce((SELECT max(number) FROM ledger_kinds), 0) + 1, $1)
      RETURNING number)",
                    kind_);
}

}  // namespace berth::ledger
