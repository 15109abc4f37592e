#include "controller/domain/ledger/running_audit.h"

#include <algorithm>
#include <charconv>

#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/pending_rows.h"
#include "controller/domain/ledger/range_checks.h"

namespace berth::ledger {
namespace {

constexpr const char* days_part = "each closed day is what it was closed with";

struct Part {
  std::string position;
  Finding now;
  std::optional<Instant> ended_at;
  Finding before;
};

Part part_of(db::Tx& tx, const std::string& name) {
  auto rows = tx.query(R"(
      SELECT position, checked, broken, first, ended_at, was_checked, was_broken, was_first
      FROM ledger_audit_parts
      WHERE part = $1)",
                       name);
  if (!rows.next()) return {};
  return {.position = rows.text("position"),
          .now = {.checked = rows.integer("checked"),
                  .broken = rows.integer("broken"),
                  .first = rows.text("first")},
          .ended_at = rows.instant_or_null("ended_at"),
          .before = {.checked = rows.integer("was_checked"),
                     .broken = rows.integer("was_broken"),
                     .first = rows.text("was_first")}};
}

void store(db::Tx& tx, const std::string& name, const Part& part) {
  tx.execute(R"(
      INSERT INTO ledger_audit_parts (part, position, checked, broken, first, ended_at, was_checked,
                                      was_broken, was_first)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (part)
      DO UPDATE SET position = excluded.position, checked = excluded.checked,
                    broken = excluded.broken, first = excluded.first,
                    ended_at = excluded.ended_at, was_checked = excluded.was_checked,
                    was_broken = excluded.was_broken, was_first = excluded.was_first)",
             name, part.position, part.now.checked, part.now.broken, part.now.first, part.ended_at,
             part.before.checked, part.before.broken, part.before.first);
}

// Adds what a step has seen. The pass ends with a step that moved the position no further.
void advance(db::Tx& tx, const std::string& name, const Finding& seen, const std::string& position,
             bool is_over) {
  Part part = part_of(tx, name);
  part.now.add(seen);
  part.position = position;
  if (is_over) {
    part.before = std::move(part.now);
    part.now = {};
    part.position.clear();
    part.ended_at = tx.now();
  }
  store(tx, name, part);
}

bool is_due(const Part& part, Instant now) {
  return !part.position.empty() || !part.ended_at || *part.ended_at + pass_pause <= now;
}

std::int64_t day_of(const std::string& position) {
  std::int64_t day = -1;
  std::from_chars(position.data(), position.data() + position.size(), day);
  return day;
}

Check check_of(const char* name, const char* what, const Part& part) {
  std::string detail = std::to_string(part.now.checked) + " " + what + " in the present pass";
  if (part.ended_at)
    detail += ", " + std::to_string(part.before.checked) + " in the one that ended at " +
              to_iso8601(*part.ended_at);
  const std::int64_t broken = part.now.broken + part.before.broken;
  if (broken > 0)
    detail = std::to_string(broken) + " of " + detail +
             ", the first: " + (part.before.broken > 0 ? part.before.first : part.now.first);
  return {.name = name, .ok = broken == 0, .detail = detail};
}

Check check_of(const char* name, const std::string& scope, const Finding& finding) {
  const bool ok = finding.broken == 0;
  return {
      .name = name,
      .ok = ok,
      .detail =
          ok ? scope : std::to_string(finding.broken) + " violations, the first: " + finding.first};
}

Check check_balances(db::Tx& tx) {
  const Finding finding = violations(tx.query(R"(
      SELECT id, balance - credited + debited AS difference
      FROM ledger_accounts
      WHERE balance <> credited - debited
      ORDER BY id)"));
  return check_of("each account's points in and out give its balance", "all accounts", finding);
}

Check check_pending_credits(db::Tx& tx) {
  const Finding finding = check_pending(tx);
  return check_of("each pending credit is a posting",
                  std::to_string(finding.checked) + " pending credits", finding);
}

Check check_closed_rows(db::Tx& tx) {
  const Finding finding = check_chain(tx, utc_day(tx.now()) - days_of_chain);
  std::string scope = std::to_string(finding.checked) + " closed days";
  if (const auto newest = newest_closed_day(tx)) scope += ", the newest is " + utc_date(*newest);
  if (const auto waiting = next_to_close(tx))
    scope += ", waiting to be closed since " + utc_date(*waiting);
  return check_of("closed days are chained", scope, finding);
}

Check check_open_days(db::Tx& tx) {
  Finding finding;
  std::int64_t days = 0;
  std::int64_t last = std::max(newest_closed_day(tx).value_or(-1), newest_due_day(tx.now()));
  for (auto day = next_day_with_transactions(tx, last); day && *day > last;
       day = next_day_with_transactions(tx, last)) {
    DayWalk walk(*day, last);
    finish(tx, walk);
    finding.add(walk.finding());
    last = *day;
    ++days;
  }
  return check_of(
      "the open days' postings, sums and balances agree",
      std::to_string(finding.checked) + " postings of " + std::to_string(days) + " open days",
      finding);
}

}  // namespace

std::vector<Check> running_audit(db::Tx& tx) {
  std::vector<Check> checks = {check_balances(tx), check_open_days(tx), check_pending_credits(tx),
                               check_closed_rows(tx),
                               check_of(days_part, "closed days", part_of(tx, days_part))};
  for (const RangeCheck& check : range_checks())
    checks.push_back(check_of(check.name, check.what, part_of(tx, check.name)));
  return checks;
}

std::int64_t violations_found(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(sum(broken + was_broken), 0) FROM ledger_audit_parts)");
}

bool is_days_pass_due(db::Tx& tx) { return is_due(part_of(tx, days_part), tx.now()); }

void read_days(db::Tx& tx, DaysPass& pass) {
  const std::string position = part_of(tx, days_part).position;
  for (int left = rows_of_step; left > 0;) {
    if (!pass.walk) {
      const auto next = next_closed_day(tx, pass.last.value_or(day_of(position)));
      pass.is_over = !next;
      if (!next) return;
      pass.walk.emplace(tx, *next);
    }
    if (!pass.walk->step(tx, left)) return;
    pass.seen.add(compared(tx, *pass.walk));
    pass.last = pass.walk->day();
    Finding link = check_chain(tx, *pass.last, *pass.last);
    link.checked = 0;  // the day has been counted
    pass.seen.add(link);
    pass.walk.reset();
  }
}

void store(db::Tx& tx, DaysPass& pass) {
  if (!pass.last && !pass.is_over) return;
  const std::string position =
      pass.last ? std::to_string(*pass.last) : part_of(tx, days_part).position;
  advance(tx, days_part, pass.seen, position, pass.is_over);
  pass.seen = {};
  pass.last.reset();
  pass.is_over = false;
}

std::optional<OtherStep> read_others(db::Tx& tx) {
  for (const RangeCheck& check : range_checks()) {
    const Part part = part_of(tx, check.name);
    if (!is_due(part, tx.now())) continue;
    OtherStep step = {.part = check.name, .position = part.position, .seen = {}};
    step.seen = check_some(tx, check, step.position, things_of_step);
    return step;
  }
  return std::nullopt;
}

void store(db::Tx& tx, const OtherStep& step) {
  advance(tx, step.part, step.seen, step.position, step.seen.checked < things_of_step);
}

}  // namespace berth::ledger
