#include "controller/domain/ledger/ledger.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/crediting.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/pending_rows.h"

namespace berth::ledger {
namespace {

// Starts the change, after which crediting_of(tx).changed() says what it has done. A conditional
// UPDATE checks the balance and takes the points; it changes no row if there weren't enough that
// aren't held. The issuance account may go down to -max_points.
db::Query take_later(db::Tx& tx, const Account& account, std::int64_t amount) {
  static const std::string update = R"(
      UPDATE ledger_accounts
      SET balance = balance - $2, debited = debited + $2
      WHERE id = $1 AND (balance - held >= $2 OR (kind = 'issuance' AND balance - $2 >= $3))
      )";
  static const std::string update_and_return = update + and_return_changed;
  return tx.query_later(crediting_of(tx).text_of({update, update_and_return}), account.id(), amount,
                        -max_points);
}

db::Query give_later(db::Tx& tx, const Account& account, std::int64_t amount) {
  static const std::string update = R"(
      UPDATE ledger_accounts
      SET balance = balance + $2, credited = credited + $2
      WHERE id = $1 AND balance + $2 <= $3 AND credited + $2 <= $4
      )";
  static const std::string update_and_return = update + and_return_changed;
  return tx.query_later(crediting_of(tx).text_of({update, update_and_return}), account.id(), amount,
                        max_points, max_credited);
}

std::optional<Changed> take_from_row(db::Tx& tx, const Account& account, std::int64_t amount) {
  db::Query taking = take_later(tx, account, amount);
  return crediting_of(tx).changed(tx, account, taking);
}

// For an account whose row had too little. Pending credits can only make a balance higher, so they
// aren't needed if the row has enough.
std::optional<Changed> take_with_pending(db::Tx& tx, const Account& account, std::int64_t amount) {
  std::optional<Changed> taken;
  // In a write with row locks, another process may have added all pending credits to the row since
  // it was tried. So if fold() finds none, the row is tried once more.
  bool is_more_pending = may_have_pending(tx, account);
  while (!taken && is_more_pending) {
    is_more_pending = fold(tx, account) > 0;
    taken = take_from_row(tx, account, amount);
  }
  return taken;
}

bool takes_from(const Transaction& transaction, const Account& account) {
  return std::ranges::any_of(transaction.legs, [&](const Leg& leg) { return leg.from == account; });
}

// Checks whether the credit of a leg may stay pending: the account is of a kind that has pending
// credits (pending.h), has room for the amount, and pays nothing in the same transaction. The
// statement changes nothing and is sent together with the next one.
class MayStayPending {
 public:
  MayStayPending(db::Tx& tx, const Leg& leg, const Transaction& transaction) {
    if (!may_have_pending(tx, leg.to) || takes_from(transaction, leg.to)) return;
    rows_.emplace(tx.query_later(R"(
        SELECT number
        FROM ledger_accounts
        WHERE id = $1 AND credited <= $2)",
                                 leg.to.id(), max_credited_with_pending - leg.amount));
  }
  // Returns the account's number, without totals, or nothing if the credit may not stay pending.
  std::optional<Changed> account() {
    if (!rows_ || !rows_->next()) return std::nullopt;
    return Changed{.number = rows_->integer("number"), .totals = {}};
  }

 private:
  std::optional<db::Query> rows_;
};

std::optional<Changed> give(db::Tx& tx, const Account& account, std::int64_t amount) {
  while (fold(tx, account) > 0) {
  }
  db::Query giving = give_later(tx, account, amount);
  return crediting_of(tx).changed(tx, account, giving);
}

void take_credit_back(db::Tx& tx, const Account& account, std::int64_t amount) {
  const int taken = tx.execute(R"(
      UPDATE ledger_accounts
      SET balance = balance - $2, credited = credited - $2
      WHERE id = $1)",
                               account.id(), amount);
  if (taken != 1) throw std::logic_error("a credit couldn't be reverted");
}

// The changes of both rows of a leg. Where statements run ahead, they are one round trip with what
// says on which day the leg may be posted.
class RowChanges {
 public:
  RowChanges(db::Tx& tx, const Leg& leg)
      : tx_(tx), leg_(leg), taking_(take_later(tx, leg.from, leg.amount)) {
    const bool is_direct = !may_have_pending(tx, leg.to);
    // A credit that may stay pending isn't given to a row, and its account's days don't matter.
    if (crediting_.runs_ahead() && is_direct) giving_.emplace(give_later(tx, leg.to, leg.amount));
    look_at_days(is_direct ? leg.to : leg.from);
  }
  // Returns nothing, and changes nothing, if `from` has too few points.
  std::optional<Changed> take() {
    auto taken = crediting_.changed(tx_, leg_.from, taking_);
    if (taken) return taken;
    // It ran, although it wasn't known that nothing would be taken.
    if (giving_ && crediting_.changed(tx_, leg_.to, *giving_))
      take_credit_back(tx_, leg_.to, leg_.amount);
    giving_.reset();
    taken = take_with_pending(tx_, leg_.from, leg_.amount);
    if (taken) look_at_days(leg_.from);
    return taken;
  }
  // Needs a take() that has taken something. Returns nothing if `to` can't have that many points.
  std::optional<Changed> give() {
    if (giving_) return crediting_.changed(tx_, leg_.to, *giving_);
    auto given = ledger::give(tx_, leg_.to, leg_.amount);
    if (given) look_at_days(leg_.to);
    return given;
  }
  std::optional<db::Query> days() { return std::move(days_); }

 private:
  void look_at_days(const Account& other) {
    days_.reset();
    crediting_.look_at_days(tx_, leg_.from, other, days_);
  }

  db::Tx& tx_;
  const Leg& leg_;
  const Crediting& crediting_ = crediting_of(tx_);
  db::Query taking_;
  std::optional<db::Query> giving_;
  std::optional<db::Query> days_;
};

// The two accounts of a leg after its amount was moved.
struct Moved {
  Changed from;
  Changed to;
  std::int64_t bonus = 0;              // how many of the points were a bonus of `from`
  std::int64_t bonus_left = 0;         // what `from` has of it afterwards
  std::int64_t marked = 0;             // how many of the points are a bonus of `to`
  std::optional<db::Query> days = {};  // for Crediting::first_day()
};

void add_bonus(db::Tx& tx, const Account& account, std::int64_t points) {
  tx.execute_later(R"(
      UPDATE ledger_accounts
      SET bonus = bonus + $2
      WHERE id = $1)",
                   account.id(), points);
}

// What `from`, which had a bonus of `before` and has `left` points now, keeps of it.
std::int64_t bonus_kept(const Leg& leg, Mark mark, std::optional<std::int64_t> given_back,
                        std::int64_t before, std::int64_t left) {
  if (given_back) return std::min(std::max(before - *given_back, std::int64_t(0)), left);
  const bool first = leg.to.kind == treasury().kind && mark != Mark::last;
  return first ? std::max(before - leg.amount, std::int64_t(0)) : std::min(before, left);
}

// Takes what the amount has of the bonus of `from`, whose row was changed already, and marks it at
// `to`. The treasury's points are nobody's bonus.
void move_bonus(db::Tx& tx, const Leg& leg, Mark mark, std::optional<std::int64_t> given_back,
                Moved& moved) {
  const bool to_treasury = leg.to.kind == treasury().kind;
  const std::int64_t before = moved.from.bonus;
  if (before > 0) {
    std::int64_t left = moved.from.totals->credited - moved.from.totals->debited;
    if (left < before) left = balance(tx, leg.from);  // pending credits count, too
    moved.bonus_left = bonus_kept(leg, mark, given_back, before, left);
    moved.bonus = before - moved.bonus_left;
    if (moved.bonus > 0) add_bonus(tx, leg.from, -moved.bonus);
  }
  if (to_treasury) return;
  moved.marked = given_back ? *given_back : mark == Mark::bonus ? leg.amount : moved.bonus;
  if (moved.marked > 0) add_bonus(tx, leg.to, moved.marked);
}

// Moves the amount of a leg of the transaction. Returns nothing, and changes nothing, if `from` has
// too few points.
std::optional<Moved> move(db::Tx& tx, const Leg& leg, const Transaction& transaction) {
  if (leg.amount < 1 || leg.amount > max_points)
    throw std::logic_error("a movement must have from 1 to max_points points");
  if (leg.from.id() == leg.to.id())
    throw std::logic_error("a movement must have two different accounts");
  MayStayPending pending(tx, leg, transaction);
  RowChanges rows(tx, leg);
  const auto from = rows.take();
  if (!from) return std::nullopt;
  auto to = pending.account();
  if (!to) to = rows.give();
  if (!to)
    throw invalid_field("amount",
                        "would make the balance exceed 2^53-1, or all points that the account ever "
                        "got 2^62");
  Moved moved = {.from = *from, .to = *to, .days = rows.days()};
  move_bonus(tx, leg, transaction.mark, transaction.bonus_given_back, moved);
  return moved;
}

void take_back(db::Tx& tx, const Leg& leg, const Moved& moved) {
  if (moved.to.totals) take_credit_back(tx, leg.to, leg.amount);
  const int given = tx.execute(R"(
      UPDATE ledger_accounts
      SET balance = balance + $2, debited = debited - $2
      WHERE id = $1)",
                               leg.from.id(), leg.amount);
  if (given != 1) throw std::logic_error("a movement couldn't be reverted");
  if (moved.bonus > 0) add_bonus(tx, leg.from, moved.bonus);
  if (moved.marked > 0) add_bonus(tx, leg.to, -moved.marked);
}

// Returns the time of a transaction. It is never on a closed day (closed_days.h), nor before a day
// for which one of its accounts has sums, because these include the days before. If the clock was
// set back that far, or the clock of another process is ahead, it is the first moment that is
// allowed.
Instant posting_time(db::Tx& tx, std::vector<Moved>& moved, std::int64_t newest) {
  std::int64_t first = 0;
  for (Moved& one : moved)
    first = std::max(first, crediting_of(tx).first_day(tx, one.days, newest));
  return std::max(tx.now(), start_of_day(first));
}

// Posts the transaction. The result's bonus points are those of the first leg.
std::optional<Posted> post_legs(db::Tx& tx, const Transaction& transaction) {
  if (transaction.legs.empty() || transaction.legs.size() > max_legs)
    throw std::logic_error("a transaction has no or too many movements");
  const Crediting& crediting = crediting_of(tx);
  KindLookup kind_lookup(tx, transaction.kind);
  auto place_lookup = crediting.place_later(tx);
  std::vector<Moved> moved;
  for (const Leg& leg : transaction.legs) {
    auto one = move(tx, leg, transaction);
    if (!one) {
      for (; !moved.empty(); moved.pop_back())
        take_back(tx, transaction.legs[moved.size() - 1], moved.back());
      return std::nullopt;
    }
    moved.push_back(*std::move(one));
  }
  const std::int64_t newest = crediting.newest_transaction(tx);
  const Instant at = posting_time(tx, moved, newest);
  const std::string id = new_uuid(at);
  const std::int64_t kind = kind_lookup.number();
  const std::int64_t number = crediting.add_transaction(
      tx, {.id = id, .kind = kind, .memo = transaction.memo, .at = at}, newest, place_lookup);
  int place = 0;  // the leg's place in the transaction
  const auto entry = [&](const Account& account, std::int64_t amount, const Changed& after) {
    tx.execute_later(R"(
        INSERT INTO ledger_postings (account_number, incoming, transaction_number, leg, kind, amount)
        VALUES ($1, $2, $3, $4, $5, $6))",
                     after.number, amount > 0, number, place, kind, amount);
    if (after.totals)
      count_posting(tx, account, utc_day(at), transaction.kind, amount, *after.totals);
    else
      add_pending(tx, {.account = after.number,
                       .transaction = number,
                       .leg = place,
                       .kind = kind,
                       .amount = amount});
    ++place;
  };
  for (size_t i = 0; i < moved.size(); ++i) {
    const Leg& leg = transaction.legs[i];
    entry(leg.from, -leg.amount, moved[i].from);
    entry(leg.to, leg.amount, moved[i].to);
    if (leg.to.kind == "app") tx.notify(db::Topic::app_balance, leg.to.owner);
    if (leg.to.kind == "campaign") tx.notify(db::Topic::campaign, leg.to.owner);
  }
  return Posted{.id = id, .bonus = moved.front().bonus, .bonus_left = moved.front().bonus_left};
}

// `points` in one row, or no row if the account doesn't exist.
std::string_view balance_sql(const db::Tx& tx, const Account& account) {
  static constexpr std::string_view plain =
      R"(SELECT balance AS points FROM ledger_accounts WHERE id = $1)";
  // One statement, so that in a write with row locks, too, each credit is in one of the two places.
  static constexpr std::string_view with_pending = R"(
      SELECT a.balance + coalesce((SELECT sum(p.amount)
                                   FROM ledger_pending p
                                   WHERE p.account_number = a.number), 0) AS points
      FROM ledger_accounts a
      WHERE a.id = $1)";
  return may_have_pending(tx, account) ? with_pending : plain;
}

}  // namespace

Account user_account(const std::string& user_id) { return {"user", user_id}; }
Account app_account(const std::string& app_id) { return {"app", app_id}; }
Account campaign_account(const std::string& campaign_id) { return {"campaign", campaign_id}; }
Account reservation_account(const Account& source) { return {"reservation", source.owner}; }
Account treasury() { return {"treasury", ""}; }
Account issuance() { return {"issuance", ""}; }

void open_account(db::Tx& tx, const Account& account) {
  // Most of these accounts exist, and looking for one is cheaper than an INSERT that does nothing.
  if (tx.number(R"(SELECT 1 AS one FROM ledger_accounts WHERE id = $1)", account.id()) == 1) return;
  tx.execute(R"(
      INSERT INTO ledger_accounts (id, kind, owner)
      VALUES ($1, $2, $3)
      ON CONFLICT (id) DO NOTHING)",
             account.id(), account.kind, account.owner);
}

void lock(db::Tx& tx, const Account& account) {
  tx.lock(R"(UPDATE ledger_accounts SET balance = balance WHERE id = $1)", account.id());
}

std::int64_t balance(db::Tx& tx, const Account& account) {
  return tx.number(balance_sql(tx, account), account.id());
}

db::Query balance_later(db::Tx& tx, const Account& account) {
  return tx.query_later(balance_sql(tx, account), account.id());
}

std::int64_t held(db::Tx& tx, const Account& account) {
  return tx.number(R"(SELECT held FROM ledger_accounts WHERE id = $1)", account.id());
}

bool set_held(db::Tx& tx, const Account& account, std::int64_t points) {
  const auto set = [&] {
    return tx.execute(R"(
        UPDATE ledger_accounts
        SET held = $2
        WHERE id = $1 AND balance >= $2)",
                      account.id(), points) == 1;
  };
  bool is_set = set();
  // Credits that are pending may be what is missing; see take_with_pending().
  for (bool is_more = !is_set && may_have_pending(tx, account); is_more && !is_set;) {
    is_more = fold(tx, account) > 0;
    is_set = set();
  }
  return is_set;
}

std::int64_t spendable(db::Tx& tx, const Account& account) {
  return balance(tx, account) - held(tx, account);
}

std::string words_for_held(db::Tx& tx, const Account& account) {
  const std::int64_t points = held(tx, account);
  if (points == 0) return "";
  return " (" + std::to_string(points) + " of its points " + (points == 1 ? "is" : "are") +
         " held for what runs by the hour)";
}

std::optional<std::string> post(db::Tx& tx, const Movement& movement) {
  auto posted = post_and_tell(tx, movement);
  return posted ? std::optional(std::move(posted->id)) : std::nullopt;
}

std::optional<Posted> post_and_tell(db::Tx& tx, const Movement& movement) {
  return post_legs(tx, {.kind = movement.kind,
                        .legs = {{movement.from, movement.to, movement.amount}},
                        .memo = movement.memo,
                        .mark = movement.mark,
                        .bonus_given_back = movement.bonus_given_back});
}

std::optional<std::string> post(db::Tx& tx, const Transaction& transaction) {
  auto posted = post_legs(tx, transaction);
  return posted ? std::optional(std::move(posted->id)) : std::nullopt;
}

std::int64_t bonus(db::Tx& tx, const Account& account) {
  return tx.number(R"(SELECT bonus FROM ledger_accounts WHERE id = $1)", account.id());
}

void end_bonus(db::Tx& tx, const Account& account) {
  tx.execute(R"(
      UPDATE ledger_accounts
      SET bonus = 0
      WHERE id = $1 AND bonus > 0)",
             account.id());
}

std::string mint(db::Tx& tx, const Account& to, std::int64_t amount, const std::string& reason) {
  open_account(tx, issuance());
  open_account(tx, to);
  const auto id =
      post(tx, {.kind = "mint", .from = issuance(), .to = to, .amount = amount, .memo = reason});
  if (!id) throw invalid_field("amount", "would make the total of minted points exceed 2^53-1");
  return *id;
}

}  // namespace berth::ledger
