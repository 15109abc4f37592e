#include "controller/domain/ledger/closed_days.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/day_rows.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/range_checks.h"
#include "controller/domain/ledger/tree_parts.h"

namespace berth::ledger {
namespace {

// How many rows one statement reads if a whole day is walked at once.
constexpr int rows_at_once = 10'000;

std::int64_t first_number_of(std::int64_t day) { return first_number(start_of_day(day)); }

// Returns the hash of all that `hash` covers, and `text` after it.
std::string hash_of(const std::string& hash, const std::string& text) {
  return hex(sha256(hash + "\n" + text));
}

std::string chain_after(const std::string& chain, std::int64_t day, const DaySums& sums) {
  return receipt::chain_after(chain,
                              {.date = {},
                               .transactions = sums.transactions,
                               .postings = sums.postings,
                               .moved = sums.moved,
                               .hash = sums.hash,
                               .root = sums.root,
                               .chain = {}},
                              day);
}

DaySums sums_of(const db::Query& row) {
  return {.transactions = row.integer("transactions"),
          .postings = row.integer("postings"),
          .moved = row.integer("moved"),
          .hash = row.text("hash"),
          .root = row.text_or_null("root").value_or("")};
}

std::string in_and_out(const Totals& totals) {
  return std::to_string(totals.credited) + " in and " + std::to_string(totals.debited) + " out";
}

std::optional<std::int64_t> first_day(db::Query rows) {
  return rows.next() ? std::optional(rows.integer("day")) : std::nullopt;
}

// The hash that ends the chain before this day; empty if no day before it is closed.
std::string chain_before(db::Tx& tx, std::int64_t day) {
  auto rows = tx.query(R"(
      SELECT chain
      FROM ledger_closed_days
      WHERE day < $1
      ORDER BY day DESC
      LIMIT 1)",
                       day);
  return rows.next() ? rows.text("chain") : "";
}

// Where the transactions of a day begin: after the end of the closed day before it.
std::int64_t start_of(db::Tx& tx, std::int64_t day) {
  const auto before = first_day(tx.query(R"(
      SELECT day
      FROM ledger_closed_days
      WHERE day < $1
      ORDER BY day DESC
      LIMIT 1)",
                                         day));
  return before ? first_number_of(*before + 1) : 0;
}

}  // namespace

std::optional<std::int64_t> newest_closed_day(db::Tx& tx) {
  return first_day(tx.query(R"(
      SELECT day
      FROM ledger_closed_days
      ORDER BY day DESC
      LIMIT 1)"));
}

std::optional<std::int64_t> next_closed_day(db::Tx& tx, std::int64_t day) {
  return first_day(tx.query(R"(
      SELECT day
      FROM ledger_closed_days
      WHERE day > $1 AND hash IS NOT NULL
      ORDER BY day
      LIMIT 1)",
                            day));
}

std::optional<std::int64_t> next_day_with_transactions(db::Tx& tx, std::int64_t day) {
  auto rows = tx.query(R"(
      SELECT number
      FROM ledger_transactions
      WHERE number >= $1
      ORDER BY number
      LIMIT 1)",
                       first_number_of(day + 1));
  if (!rows.next()) return std::nullopt;
  return utc_day(time_of_number(rows.integer("number")));
}

std::int64_t newest_due_day(Instant now) { return utc_day(now - closing_margin) - 1; }

std::optional<std::int64_t> next_to_close(db::Tx& tx) {
  const std::int64_t newest = newest_closed_day(tx).value_or(-1);
  if (tx.number(R"(
      SELECT CASE WHEN hash IS NULL THEN 1 ELSE 0 END AS is_open
      FROM ledger_closed_days
      WHERE day = $1)",
                newest) == 1)
    return newest;
  const auto next = next_day_with_transactions(tx, newest);
  if (!next || *next <= newest || *next > newest_due_day(tx.now())) return std::nullopt;
  return next;
}

void begin_closing(db::Tx& tx, std::int64_t day) {
  tx.execute(R"(
      INSERT INTO ledger_closed_days (day, closed_at)
      VALUES ($1, $2)
      ON CONFLICT DO NOTHING)",
             day, tx.now());
}

std::string end_closing(db::Tx& tx, const DayWalk& walk) {
  const std::int64_t day = walk.day();
  const DaySums& sums = walk.sums();
  const std::string chain = chain_after(chain_before(tx, day), day, sums);
  const int closed =
      tx.execute(R"(
      UPDATE ledger_closed_days
      SET transactions = $2, postings = $3, moved = $4, hash = $5, root = $6, chain = $7
      WHERE day = $1 AND hash IS NULL)",
                 day, sums.transactions, sums.postings, sums.moved, sums.hash, sums.root, chain);
  if (closed != 1) return "";
  tx.execute(R"(
      INSERT INTO ledger_day_trees (day, parts)
      VALUES ($1, $2))",
             day, text_of_parts(walk.tree()));
  return chain;
}

Finding check_chain(db::Tx& tx, std::int64_t first, std::int64_t last) {
  Finding finding;
  std::string chain = chain_before(tx, first);
  auto rows = tx.query(R"(
      SELECT day, transactions, postings, moved, hash, root, chain
      FROM ledger_closed_days
      WHERE day BETWEEN $1 AND $2 AND hash IS NOT NULL
      ORDER BY day)",
                       first, last);
  for (; rows.next(); ++finding.checked) {
    const std::int64_t day = rows.integer("day");
    chain = chain_after(chain, day, sums_of(rows));
    const std::string stored = rows.text("chain");
    if (chain != stored)
      finding.add_violation("the row of " + utc_date(day) + ", or the one before it, was changed");
    chain = stored;
  }
  return finding;
}

struct DayWalk::Open {
  std::int64_t number = 0;
  std::string id;
  std::string kind;
  Instant at;
  std::int64_t sum = 0;
  std::vector<receipt::Posting> postings;
};

DayWalk::DayWalk(db::Tx& tx, std::int64_t day, Scope scope)
    : day_(day), scope_(scope), next_(start_of(tx, day)), end_(first_number_of(day + 1)) {}

DayWalk::DayWalk(std::int64_t day, std::int64_t before)
    : day_(day), next_(first_number_of(before + 1)), end_(first_number_of(day + 1)) {}

bool DayWalk::step(db::Tx& tx, int& left) {
  while (phase_ != Phase::end && left > 0) {
    const bool is_over = phase_ == Phase::transactions ? read_transactions(tx, left)
                         : phase_ == Phase::days       ? read_days(tx, left)
                                                       : read_kinds(tx, left);
    --left;  // a statement costs something too
    if (!is_over) continue;
    if (phase_ == Phase::kinds) end_kinds();
    phase_ = scope_ == Scope::all ? static_cast<Phase>(static_cast<int>(phase_) + 1) : Phase::end;
  }
  return phase_ == Phase::end;
}

// Returns the number at which to stop, so that at most `limit` transactions are read, or all of one
// millisecond. They are sorted by their ids, which are only known to be later if their millisecond
// is later, so a millisecond isn't split.
std::int64_t DayWalk::end_of_some(db::Tx& tx, int limit) const {
  auto rows = tx.query(R"(
      SELECT number
      FROM ledger_transactions
      WHERE number >= $1 AND number < $2
      ORDER BY number
      LIMIT 1 OFFSET $3)",
                       next_, end_, limit);
  if (!rows.next()) return end_;
  const Instant behind = time_of_number(rows.integer("number"));
  const std::int64_t begin = first_number(behind);
  return begin > next_ ? begin : begin + places;
}

bool DayWalk::read_transactions(db::Tx& tx, int& left) {
  const std::int64_t until = end_of_some(tx, left);
  auto rows = tx.query(R"(
      SELECT t.number, t.id_high, t.id_low, k.kind, a.id AS account_id, a.kind AS account_kind,
             p.amount
      FROM ledger_transactions t
      JOIN ledger_kinds k ON k.number = t.kind
      LEFT JOIN ledger_postings p ON p.transaction_number = t.number
      LEFT JOIN ledger_accounts a ON a.number = p.account_number
      WHERE t.number >= $1 AND t.number < $2
      ORDER BY t.id_high, t.id_low, t.number, p.leg)",
                       next_, until);
  Open open;
  while (rows.next()) {
    if (const std::int64_t number = rows.integer("number"); number != open.number) {
      if (open.number != 0) end(tx, open);
      begin(open, rows);
      --left;
    }
    if (!rows.null("account_id")) count(open, rows);
  }
  if (open.number != 0) end(tx, open);
  next_ = until;
  if (until == end_) {
    if (part_.size() > 0) end_part();
    sums_.root = hex(tree_.root());
  }
  if (until == end_ && scope_ == Scope::all) leave_out_pending(tx);
  return until == end_;
}

// What is pending (pending.h) isn't in the rows of days yet. Nothing is pending on a closed day.
void DayWalk::leave_out_pending(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT a.id AS account_id, k.kind, p.amount
      FROM ledger_pending p
      JOIN ledger_accounts a ON a.number = p.account_number
      JOIN ledger_kinds k ON k.number = p.kind
      WHERE p.transaction_number >= $1 AND p.transaction_number < $2)",
                       first_number_of(day_), end_);
  while (rows.next()) {
    const std::string account = rows.text("account_id");
    const std::int64_t amount = rows.integer("amount");
    accounts_[account].credited -= amount;
    KindSum& kind = kinds_[{account, rows.text("kind")}];
    --kind.postings;
    kind.credited -= amount;
  }
  std::erase_if(accounts_, [](const auto& one) { return one.second == Totals(); });
  std::erase_if(kinds_, [](const auto& one) { return one.second == KindSum(); });
}

void DayWalk::begin(Open& open, const db::Query& row) {
  const IdParts parts = {.high = row.integer("id_high"), .low = row.integer("id_low")};
  open = {.number = row.integer("number"),
          .id = id_of_parts(parts),
          .kind = row.text("kind"),
          .at = time_of_number(row.integer("number")),
          .sum = 0,
          .postings = {}};
  ++sums_.transactions;
  if (utc_day(open.at) != day_)
    violation("the transaction " + open.id + " has a time of another day");
  else if (time_of_id(parts) != open.at)
    violation("the transaction " + open.id + " has a time that isn't that of its id");
}

void DayWalk::count(Open& open, const db::Query& row) {
  const std::string account = row.text("account_id");
  const std::string account_kind = row.text("account_kind");
  const std::int64_t amount = row.integer("amount");
  open.postings.push_back({.account = account, .amount = amount});
  open.sum += amount;
  ++sums_.postings;
  ++finding_.checked;
  if (amount > 0) sums_.moved += std::min(amount, max_points - sums_.moved);
  if (scope_ == Scope::transactions) return;
  const std::int64_t credited = std::max<std::int64_t>(amount, 0);
  const std::int64_t debited = credited - amount;
  Totals& totals = accounts_[account];
  totals.credited += credited;
  totals.debited += debited;
  if (!has_kind_sums({.kind = account_kind, .owner = {}})) return;
  KindSum& kind = kinds_[{account, open.kind}];
  ++kind.postings;
  kind.credited += credited;
  kind.debited += debited;
}

void DayWalk::end(db::Tx& tx, const Open& open) {
  const std::string text = receipt::leaf_text(open.id, open.kind, open.at, open.postings);
  sums_.hash = hash_of(sums_.hash, text);
  add_leaf(open, text);
  if (open.postings.size() < 2)
    violation("the transaction " + open.id + " lacks postings");
  else if (open.sum != 0)
    violation("the transaction " + open.id + " is off by " + std::to_string(open.sum));
  constexpr std::array with_receipts = {"deployment", "tier_change", "deployment_refund", "build",
                                        "refund",     "metering",    "claw_back"};
  if (std::ranges::find(with_receipts, open.kind) != with_receipts.end()) check_charge(tx, open);
}

void DayWalk::add_leaf(const Open& open, const std::string& text) {
  if (part_.size() == 0) part_begins_with_ = open.id;
  part_.add(merkle::leaf_hash(text));
  if (part_.size() == leaves_of_part) end_part();
}

void DayWalk::end_part() {
  parts_.push_back({.first_id = part_begins_with_, .root = part_.root()});
  tree_.add(parts_.back().root);
  part_ = {};
}

void DayWalk::check_charge(db::Tx& tx, const Open& open) {
  if (charges_with(tx, open.id) != 1)
    violation("the transaction " + open.id +
              " isn't that of one charge of a deployment, a build or an app, or of one refund "
              "or claw-back");
}

// A row of an account on which nothing was posted that day needs no check of its own: if it says
// anything else than the row before it, the next row's difference is wrong, or the account itself.
bool DayWalk::read_days(db::Tx& tx, int& left) {
  for (; left > 0 && !accounts_.empty(); --left) {
    const auto posted = accounts_.extract(accounts_.begin());
    compare(tx, posted.key(), posted.mapped());
  }
  return accounts_.empty();
}

void DayWalk::compare(db::Tx& tx, const std::string& account_id, const Totals& posted) {
  auto rows = tx.query(R"(
      SELECT d.credited - coalesce(b.credited, 0) AS credited,
             d.debited - coalesce(b.debited, 0) AS debited,
             a.credited - d.credited AS credited_since,
             a.debited - d.debited AS debited_since,
             CASE WHEN EXISTS (
               SELECT 1
               FROM ledger_days l
               WHERE l.account_id = d.account_id AND l.day > d.day
             ) THEN 0 ELSE 1 END AS is_newest
      FROM ledger_days d
      JOIN ledger_accounts a ON a.id = d.account_id
      LEFT JOIN ledger_days b ON b.account_id = d.account_id AND b.day = (
        SELECT max(e.day)
        FROM ledger_days e
        WHERE e.account_id = d.account_id AND e.day < d.day)
      WHERE d.account_id = $1 AND d.day = $2)",
                       account_id, day_);
  if (!rows.next())
    return violation("there are no sums of " + account_id + ", and " + in_and_out(posted) +
                     " was posted");
  const Totals said = {.credited = rows.integer("credited"), .debited = rows.integer("debited")};
  const Totals since = {.credited = rows.integer("credited_since"),
                        .debited = rows.integer("debited_since")};
  if (said != posted)
    violation("the sums of " + account_id + " are " + in_and_out(said) + ", and " +
              in_and_out(posted) + " was posted");
  if (rows.flag("is_newest") && since != Totals())
    violation("the account " + account_id + " differs from its sums of the day");
}

bool DayWalk::read_kinds(db::Tx& tx, int& left) {
  const int limit = left;
  auto rows = tx.query(R"(
      SELECT account_id, kind, postings, credited, debited
      FROM ledger_kind_days
      WHERE day = $1 AND (account_id, kind) > ($2, $3)
      ORDER BY account_id, kind
      LIMIT $4)",
                       day_, after_, after_kind_, limit);
  int read = 0;
  for (; rows.next(); ++read) {
    after_ = rows.text("account_id");
    after_kind_ = rows.text("kind");
    const auto posted = kinds_.extract({after_, after_kind_});
    const KindSum found = posted ? posted.mapped() : KindSum();
    if (rows.integer("postings") != found.postings || rows.integer("credited") != found.credited ||
        rows.integer("debited") != found.debited || !posted)
      violation("the sums of " + after_ + " for " + after_kind_ + " aren't what was posted");
  }
  left -= read;
  return read < limit;
}

void DayWalk::end_kinds() {
  for (const auto& [key, sum] : kinds_)
    violation("there are no sums of " + key.first + " for " + key.second + ", and " +
              std::to_string(sum.postings) + " postings");
  kinds_.clear();
}

void DayWalk::violation(const std::string& what) {
  finding_.add_violation(utc_date(day_) + ": " + what);
}

Finding compared(db::Tx& tx, const DayWalk& walk) {
  Finding finding = walk.finding();
  finding.checked = 1;
  auto rows = tx.query(R"(
      SELECT d.transactions, d.postings, d.moved, d.hash, d.root, t.parts
      FROM ledger_closed_days d
      LEFT JOIN ledger_day_trees t ON t.day = d.day
      WHERE d.day = $1)",
                       walk.day());
  DaySums read = walk.sums();
  const bool has_row = rows.next();
  if (has_row && rows.null("root")) read.root.clear();  // it was closed before there were trees
  if (!has_row || sums_of(rows) != read)
    finding.add_violation(utc_date(walk.day()) +
                          ": its transactions aren't those that it was closed with");
  else if (!read.root.empty() && rows.text_or_null("parts") != text_of_parts(walk.tree()))
    finding.add_violation(utc_date(walk.day()) + ": its tree isn't that of its transactions");
  return finding;
}

void finish(db::Tx& tx, DayWalk& walk) {
  for (int left = 0; !walk.step(tx, left);) left = rows_at_once;
}

Finding check_closed_day(db::Tx& tx, std::int64_t day) {
  DayWalk walk(tx, day, DayWalk::Scope::transactions);
  finish(tx, walk);
  return compared(tx, walk);
}

}  // namespace berth::ledger
