#include "controller/domain/ledger/proofs.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/tree_parts.h"

namespace berth::ledger {
namespace {

// Like the rows that DayWalk hashes, and in their order.
struct Leaves {
  std::vector<std::string> ids;
  std::vector<merkle::Hash> hashes;
};

// Reads the leaves of the part. A millisecond may belong to two parts, so the transactions of its
// first and last one are compared by their ids.
Leaves read_leaves(db::Tx& tx, const std::vector<TreePart>& parts, size_t place, std::int64_t day) {
  const auto time_of = [](const TreePart& part) { return time_of_id(parts_of_id(part.first_id)); };
  const bool is_last = place + 1 == parts.size();
  const std::int64_t end = first_number(start_of_day(day + 1));
  const std::int64_t until =
      is_last ? end : std::min(end, first_number(time_of(parts[place + 1])) + places);
  auto rows = tx.query(R"(
      SELECT t.number, t.id_high, t.id_low, k.kind, a.id AS account_id, p.amount
      FROM ledger_transactions t
      JOIN ledger_kinds k ON k.number = t.kind
      JOIN ledger_postings p ON p.transaction_number = t.number
      JOIN ledger_accounts a ON a.number = p.account_number
      WHERE t.number >= $1 AND t.number < $2
      ORDER BY t.id_high, t.id_low, t.number, p.leg)",
                       first_number(time_of(parts[place])), until);
  Leaves leaves;
  Recorded open;
  std::vector<receipt::Posting> postings;
  const auto end_one = [&] {
    if (postings.empty()) return;
    leaves.ids.push_back(open.id);
    leaves.hashes.push_back(
        merkle::leaf_hash(receipt::leaf_text(open.id, open.kind, open.at, postings)));
    postings.clear();
  };
  while (rows.next()) {
    std::string id = id_of_parts({.high = rows.integer("id_high"), .low = rows.integer("id_low")});
    if (id < parts[place].first_id || (!is_last && id >= parts[place + 1].first_id)) continue;
    if (id != open.id) {
      end_one();
      open = {.id = std::move(id),
              .kind = rows.text("kind"),
              .memo = {},
              .at = time_of_number(rows.integer("number")),
              .postings = {}};
    }
    postings.push_back({.account = rows.text("account_id"), .amount = rows.integer("amount")});
  }
  end_one();
  return leaves;
}

// The row of a closed day, as far as a proof needs it.
struct ClosedDay {
  std::int64_t transactions = 0;
  std::optional<std::string> root;
  std::optional<std::string> parts;
};
std::optional<ClosedDay> find_closed_day(db::Tx& tx, std::int64_t day) {
  auto rows = tx.query(R"(
      SELECT d.transactions, d.root, t.parts
      FROM ledger_closed_days d
      LEFT JOIN ledger_day_trees t ON t.day = d.day
      WHERE d.day = $1 AND d.hash IS NOT NULL)",
                       day);
  if (!rows.next()) return std::nullopt;
  return ClosedDay{.transactions = rows.integer("transactions"),
                   .root = rows.text_or_null("root"),
                   .parts = rows.text_or_null("parts")};
}

// Nothing if the stored parts aren't those of a tree.
std::optional<std::vector<TreePart>> parts_of(const ClosedDay& closed) {
  if (!closed.parts) return std::nullopt;
  try {
    return parts_of_text(*closed.parts);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

Proof prove_in(db::Tx& tx, const Recorded& transaction, std::int64_t day, const ClosedDay& closed) {
  const Proof none = {.standing = Standing::contradicts, .index = 0, .path = {}};
  const auto parts = parts_of(closed);
  if (!parts) return none;
  const auto behind = std::ranges::upper_bound(*parts, transaction.id, {}, &TreePart::first_id);
  if (behind == parts->begin()) return none;
  const auto place = static_cast<size_t>(behind - parts->begin()) - 1;
  const Leaves leaves = read_leaves(tx, *parts, place, day);
  const auto found = std::ranges::find(leaves.ids, transaction.id);
  if (found == leaves.ids.end() || merkle::root_of(leaves.hashes) != (*parts)[place].root)
    return none;
  const auto index = static_cast<std::uint64_t>(found - leaves.ids.begin());
  std::vector<merkle::Hash> roots;
  roots.reserve(parts->size());
  for (const TreePart& part : *parts) roots.push_back(part.root);
  Proof proof = {.standing = Standing::proven,
                 .index = place * leaves_of_part + index,
                 .path = merkle::path_of(leaves.hashes, index)};
  for (merkle::Hash& hash : merkle::path_of(roots, place)) proof.path.push_back(std::move(hash));
  const auto root = merkle::root_by_path(leaves.hashes[index], proof.index,
                                         std::uint64_t(closed.transactions), proof.path);
  return root && hex(*root) == closed.root ? proof : none;
}

const ListSql published = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM ledger_closed_days
            WHERE day BETWEEN $1 AND $2 AND hash IS NOT NULL
            LIMIT $3) counted)",
                           .rows = R"(
      SELECT d.day, d.transactions, d.postings, d.moved, d.hash, d.root, d.chain,
             (SELECT max(b.day) FROM ledger_closed_days b WHERE b.day < d.day) AS day_before
      FROM ledger_closed_days d
      WHERE d.day BETWEEN $1 AND $2 AND d.hash IS NOT NULL AND d.day < $3
      ORDER BY d.day DESC
      LIMIT $4 OFFSET $5)",
                           .sorted_by = {{SortColumn::Type::integer, "day"}}};

PublishedDay published_day_of(const db::Query& row) {
  return {.day = {.date = utc_date(row.integer("day")),
                  .transactions = row.integer("transactions"),
                  .postings = row.integer("postings"),
                  .moved = row.integer("moved"),
                  .hash = row.text("hash"),
                  .root = row.text_or_null("root").value_or(""),
                  .chain = row.text("chain")},
          .date_before = row.null("day_before") ? "" : utc_date(row.integer("day_before"))};
}

}  // namespace

Proof prove(db::Tx& tx, const Recorded& transaction) {
  const std::int64_t day = utc_day(transaction.at);
  const auto closed = find_closed_day(tx, day);
  if (closed && !closed->root) return {.standing = Standing::no_tree, .index = 0, .path = {}};
  if (closed) return prove_in(tx, transaction, day, *closed);
  // A day that is being closed is the newest one; an older one without a row had no transactions.
  const bool is_open = newest_closed_day(tx).value_or(-1) <= day;
  return {.standing = is_open ? Standing::open : Standing::contradicts, .index = 0, .path = {}};
}

Page<PublishedDay> published_days(db::Tx& tx, std::int64_t first, std::int64_t last,
                                  const PageRequest& page) {
  return read_page(tx, published, page, published_day_of, first, last);
}

}  // namespace berth::ledger
