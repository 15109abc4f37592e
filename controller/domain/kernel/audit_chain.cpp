#include "controller/domain/kernel/audit_chain.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/domain/kernel/audit_rows.h"
#include "controller/domain/kernel/meta.h"

namespace berth::audit {
namespace {

using nlohmann::json;

constexpr std::string_view head_key = "audit_head";  // in the table meta
constexpr size_t salt_bytes = 16;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(nullptr); }

std::string after(const std::string& before, const std::string& text) {
  return hex(sha256(before + "\n" + text));
}

void store_head(db::Tx& tx, const Head& head) {
  meta::put(tx, head_key, std::to_string(head.number) + " " + head.chain);
}

void store_checkpoint(db::Tx& tx, const Head& head) {
  tx.execute(R"(
      INSERT INTO audit_checkpoints (number, chain, at) VALUES ($1, $2, $3)
      ON CONFLICT (number) DO NOTHING)",
             head.number, head.chain, tx.now());
  log::info("a checkpoint of the audit log", {{"number", head.number}, {"chain", head.chain}});
}

std::optional<Checkpoint> newest_checkpoint(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT number, chain, at
      FROM audit_checkpoints
      WHERE number >= 0
      ORDER BY number DESC
      LIMIT 1)");
  if (!rows.next()) return std::nullopt;
  return Checkpoint{
      .number = rows.integer("number"), .chain = rows.text("chain"), .at = rows.instant("at")};
}

bool is_checkpoint_due(const std::optional<Checkpoint>& newest, const Head& head, Instant now) {
  return !newest || head.number - newest->number >= entries_of_checkpoint ||
         (head.number > newest->number && utc_day(newest->at) != utc_day(now));
}

// A check that is under way.
struct Walk {
  Check check;
  Head at;  // the entry that was looked at last

  void find(const std::string& sentence) {
    if (check.violations.size() < most_violations) check.violations.push_back(sentence);
  }
  void look_at(const Stored& stored) {
    const std::int64_t number = *stored.entry.number;
    const std::string name = "entry " + std::to_string(number);
    if (number != at.number + 1)
      find(number == at.number + 2 ? "entry " + std::to_string(at.number + 1) + " was removed"
                                   : "the entries " + std::to_string(at.number + 1) + " to " +
                                         std::to_string(number - 1) + " were removed");
    if (stored.commitment) ++check.erased;
    const std::string commitment = stored.commitment
                                       ? *stored.commitment
                                       : commitment_of(stored.entry, stored.salt.value_or(""));
    // Behind a gap nothing can be said of the entry's own hash.
    if (number == at.number + 1 &&
        after(at.chain, text_of(stored.entry, number, commitment)) != stored.chain)
      find(name + " was changed, or the one before it");
    at = {.number = number, .chain = stored.chain};
    if (check.first == 0) check.first = number;
    check.last = number;
  }
};

}  // namespace

std::string text_of(const Entry& entry, std::int64_t number, const std::string& commitment) {
  return dump(json::array({number, entry.id, to_millis(entry.at), entry.actor, entry.action,
                           entry.operation, or_null(entry.target_kind), entry.target,
                           or_null(entry.app_id), or_null(entry.token_kind), commitment}));
}

std::string commitment_of(const Entry& entry, const std::string& salt) {
  return hex(sha256(
      dump(json::array({salt, or_null(entry.user_id), or_null(entry.token_id),
                        or_null(entry.network), or_null(entry.request_id), entry.details}))));
}

Head head(db::Tx& tx) {
  const auto stored = meta::find(tx, head_key);
  if (!stored) return {};
  const size_t space = stored->find(' ');
  return {.number = std::stoll(stored->substr(0, space)), .chain = stored->substr(space + 1)};
}

bool is_any_unchained(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM audit_log WHERE number IS NULL LIMIT 1)") > 0;
}

int chain_some(db::Tx& tx) {
  tx.require_serializable();
  const auto found = read_stored(tx.query(
      R"(
      SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id, token_kind,
             token_id, network, request_id, details, at, salt, commitment, chain
      FROM audit_log
      WHERE number IS NULL
      ORDER BY id
      LIMIT $1)",
      chained_at_once));
  if (found.empty()) return 0;
  Head end = head(tx);
  // Before the first entry of a day, so that whole days can be removed once they are old.
  if (is_checkpoint_due(newest_checkpoint(tx), end, tx.now())) store_checkpoint(tx, end);
  for (const Stored& one : found) {
    const std::string salt = base64url(random_bytes(salt_bytes));
    ++end.number;
    end.chain = after(end.chain, text_of(one.entry, end.number, commitment_of(one.entry, salt)));
    tx.require_change(R"(
        UPDATE audit_log SET number = $2, salt = $3, chain = $4 WHERE id = $1 AND number IS NULL)",
                      one.entry.id, end.number, salt, end.chain);
  }
  store_head(tx, end);
  return int(found.size());
}

bool is_any_checkpoint_due(db::Tx& tx) {
  const Head end = head(tx);
  return end.number > 0 && is_checkpoint_due(newest_checkpoint(tx), end, tx.now());
}

bool store_due_checkpoint(db::Tx& tx) {
  tx.require_serializable();
  if (!is_any_checkpoint_due(tx)) return false;
  store_checkpoint(tx, head(tx));
  return true;
}

Loop chain_loop() {
  return {.name = "audit",
          .interval = std::chrono::seconds(1),
          .lease = "audit",
          .round =
              [](Round& round) {
                round.repeat(is_any_unchained, chain_some);
                round.repeat(is_any_checkpoint_due, store_due_checkpoint);
              },
          .failure = "entries of the audit log couldn't be chained and will be tried again"};
}

std::vector<Checkpoint> checkpoints(db::Tx& tx, std::int64_t after, int limit) {
  std::vector<Checkpoint> all;
  auto rows = tx.query(R"(
      SELECT number, chain, at FROM audit_checkpoints WHERE number > $1 ORDER BY number LIMIT $2)",
                       after, limit);
  while (rows.next())
    all.push_back(
        {.number = rows.integer("number"), .chain = rows.text("chain"), .at = rows.instant("at")});
  return all;
}

std::vector<Link> links(db::Tx& tx, std::int64_t after, int limit) {
  std::vector<Link> all;
  auto rows = tx.query(
      R"(
      SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id, token_kind,
             token_id, network, request_id, details, at, chain
      FROM audit_log
      WHERE number > $1
      ORDER BY number
      LIMIT $2)",
      after, limit);
  while (rows.next()) all.push_back({.entry = entry_of(rows), .chain = rows.text("chain")});
  return all;
}

Check check(db::Tx& tx, std::int64_t after_number) {
  Walk walk;
  const Head end = head(tx);
  const auto oldest = checkpoints(tx, -1, 1);
  walk.at.number = after_number;
  if (!oldest.empty() && after_number <= oldest[0].number) {
    walk.at = {.number = oldest[0].number, .chain = oldest[0].chain};
    // The clock may have been ahead, as development's can be.
    const auto newest = newest_checkpoint(tx);
    const Instant now = newest ? std::max(tx.now(), newest->at) : tx.now();
    if (oldest[0].number > 0 && oldest[0].at > now - kept_for)
      walk.find("the entries up to " + std::to_string(oldest[0].number) +
                " were removed before their time");
  } else if (after_number > 0) {
    auto rows = tx.query(R"(SELECT chain FROM audit_log WHERE number = $1)", after_number);
    if (rows.next()) walk.at.chain = rows.text("chain");
  }
  const std::int64_t first = walk.at.number;
  const auto found = read_stored(tx.query(
      R"(
      SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id, token_kind,
             token_id, network, request_id, details, at, salt, commitment, chain
      FROM audit_log
      WHERE number > $1
      ORDER BY number
      LIMIT $2)",
      first, most_checked));
  auto marks = tx.query(
      R"(
      SELECT number, chain
      FROM audit_checkpoints
      WHERE number > $1
      ORDER BY number
      LIMIT $2)",
      first, most_checked);
  bool is_mark = marks.next();
  for (const Stored& one : found) {
    walk.look_at(one);
    while (is_mark && marks.integer("number") < walk.at.number) is_mark = marks.next();
    if (is_mark && marks.integer("number") == walk.at.number &&
        marks.text("chain") != walk.at.chain)
      walk.find("checkpoint " + std::to_string(walk.at.number) + " has another hash");
  }
  walk.check.is_end = int(found.size()) < most_checked;
  if (walk.check.is_end && walk.at.number < end.number)
    walk.find("the entries " + std::to_string(walk.at.number + 1) + " to " +
              std::to_string(end.number) + " were removed");
  if (walk.check.is_end && !found.empty() && walk.at.number > end.number)
    walk.find("the chain ends at " + std::to_string(end.number) + ", before its last entries");
  if (walk.check.is_end && walk.at.number == end.number && walk.at.chain != end.chain)
    walk.find("the end of the chain has another hash");
  return std::move(walk.check);
}

}  // namespace berth::audit
