#include "controller/domain/kernel/audit.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/shares.h"
#include "controller/domain/kernel/audit_chain.h"
#include "controller/domain/kernel/audit_rows.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::audit {
namespace {

// Greater than every id.
constexpr const char* last_id = "g";

// Returns a text that is less than the ids of all entries of this time or later, and greater than
// those of all earlier ones: a UUIDv7 begins with its time in milliseconds (RFC 9562, section 5.7).
std::string first_id_at(Instant at) {
  constexpr int bytes = 6;
  constexpr std::int64_t latest = (std::int64_t(1) << (8 * bytes)) - 1;
  const std::int64_t millis = std::clamp<std::int64_t>(to_millis(at), 0, latest);
  std::string time;
  for (int byte = bytes - 1; byte >= 0; --byte) time += char(millis >> (8 * byte));
  return hex(time).insert(8, "-");
}

// What an entry has to match (empty: anything), and the ends of the ids. Each of these lists is by
// one of the first six, which has an index.
const std::string filtered = R"(
        AND ($1 = '' OR target = $1) AND ($2 = '' OR actor = $2) AND ($3 = '' OR action = $3)
        AND id >= $4 AND id < $5
        AND ($6 = '' OR user_id = $6) AND ($7 = '' OR app_id = $7) AND ($8 = '' OR network = $8)
        AND ($9 = '' OR token_id = $9))";
const std::string count_entries = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM audit_log)";
const std::string end_of_count = R"(
            LIMIT $10) counted)";
const std::string select_entries = R"(
      SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id, token_kind,
             token_id, network, request_id, details, at
      FROM audit_log)";
const std::string page_of_entries = R"(
        AND id < $10
      ORDER BY id DESC
      LIMIT $11 OFFSET $12)";
const std::vector<SortColumn> newest_first = {{SortColumn::Type::text, "id"}};

const ListSql of_all = {.count = count_entries + R"( WHERE id >= $4)" + filtered + end_of_count,
                        .rows = select_entries + R"( WHERE id >= $4)" + filtered + page_of_entries,
                        .sorted_by = newest_first};
const ListSql with_target = {
    .count = count_entries + R"( WHERE target = $1)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE target = $1)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_actor = {
    .count = count_entries + R"( WHERE actor = $2)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE actor = $2)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_action = {
    .count = count_entries + R"( WHERE action = $3)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE action = $3)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_user = {
    .count = count_entries + R"( WHERE user_id = $6)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE user_id = $6)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_app = {
    .count = count_entries + R"( WHERE app_id = $7)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE app_id = $7)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_network = {
    .count = count_entries + R"( WHERE network = $8)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE network = $8)" + filtered + page_of_entries,
    .sorted_by = newest_first};

// A field of the filter that has an index, and the list by it.
struct Index {
  std::optional<std::string> Filter::*field;
  const ListSql* list;
};
constexpr Index indexes[] = {{&Filter::user_id, &with_user}, {&Filter::target, &with_target},
                             {&Filter::actor, &with_actor},  {&Filter::network, &with_network},
                             {&Filter::app_id, &with_app},   {&Filter::action, &with_action}};

// Returns the first of the indexes by which the filter asks; null if it asks by none.
const Index* index_of(const Filter& filter) {
  const auto found = std::ranges::find_if(
      indexes, [&](const Index& index) { return (filter.*index.field).has_value(); });
  return found == std::end(indexes) ? nullptr : found;
}

const ListSql& list_for(const Filter& filter) {
  const Index* const index = index_of(filter);
  return index == nullptr ? of_all : *index->list;
}

// The part of the filter by which list_for() has an index, and the times.
Filter indexed_part(const Filter& filter) {
  Filter part = {.from = filter.from, .until = filter.until};
  if (const Index* const index = index_of(filter)) part.*index->field = filter.*index->field;
  return part;
}

// Returns what `use` returns for the values of $1 to $9.
template <typename Use>
auto with_values(const Filter& filter, Use use) {
  return use(filter.target.value_or(""), filter.actor.value_or(""), filter.action.value_or(""),
             filter.from ? first_id_at(*filter.from) : "",
             filter.until ? first_id_at(*filter.until) : last_id, filter.user_id.value_or(""),
             filter.app_id.value_or(""), filter.network.value_or(""), filter.token_id.value_or(""));
}

// Whether the entry has the filter's texts.
bool matches(const Filter& filter, const Entry& entry) {
  const auto is = [](const std::optional<std::string>& wanted,
                     const std::optional<std::string>& text) { return !wanted || wanted == text; };
  return is(filter.actor, entry.actor) && is(filter.action, entry.action) &&
         is(filter.target, entry.target) && is(filter.user_id, entry.user_id) &&
         is(filter.app_id, entry.app_id) && is(filter.network, entry.network) &&
         is(filter.token_id, entry.token_id);
}

std::optional<std::string> or_nothing(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void insert(db::Tx& tx, std::string_view action, const std::optional<std::string>& target_kind,
            std::string_view target, std::string_view details, const Requester& who) {
  tx.execute_later(R"(
      INSERT INTO audit_log (id, actor, action, operation, target, target_kind, app_id, user_id,
                             token_kind, token_id, network, request_id, details, at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14))",
                   new_uuid(tx.now()), who.actor, action,
                   who.operation == action ? std::nullopt : or_nothing(who.operation), target,
                   target_kind, or_nothing(who.app_id), or_nothing(who.user_id),
                   or_nothing(who.token_kind), or_nothing(who.token_id), or_nothing(who.network),
                   or_nothing(who.request_id), details, tx.now());
}

// Returns who has asked for what the transaction does; nobody outside of requests. The request has
// its entry from now on.
Requester recording_for(db::Tx& tx) {
  Requester* const requester = tx.requester();
  if (requester == nullptr) return {};
  requester->records = true;
  Requester who = *requester;
  // Of a login, the handler has named the account meanwhile.
  if (who.user_id.empty()) who.user_id = Claimant::of_thread().account;
  return who;
}

// Stores the commitment of an entry of the chain of which something is about to be erased, unless
// it has one.
void commit_to(db::Tx& tx, const Stored& stored) {
  if (!stored.entry.number || stored.commitment) return;
  tx.execute(R"(
      UPDATE audit_log
      SET commitment = $2, salt = NULL
      WHERE id = $1)",
             stored.entry.id, commitment_of(stored.entry, stored.salt.value_or("")));
}

}  // namespace

Entry entry_of(const db::Query& row) {
  Entry entry = {.id = row.text("id"),
                 .number = row.integer_or_null("number"),
                 .actor = row.text("actor"),
                 .action = row.text("action"),
                 .operation = row.text("operation"),
                 .target = row.text("target"),
                 .target_kind = row.text_or_null("target_kind"),
                 .app_id = row.text_or_null("app_id"),
                 .user_id = row.text_or_null("user_id"),
                 .token_kind = row.text_or_null("token_kind"),
                 .token_id = row.text_or_null("token_id"),
                 .network = row.text_or_null("network"),
                 .request_id = row.text_or_null("request_id"),
                 .details = row.text("details"),
                 .at = row.instant("at")};
  // Not stored twice where it is the action.
  if (entry.operation.empty() && entry.request_id) entry.operation = entry.action;
  return entry;
}

void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details, const std::string& app_id, const std::string& user_id) {
  Requester who = recording_for(tx);
  who.actor = actor;
  if (!app_id.empty()) who.app_id = app_id;
  if (!user_id.empty()) who.user_id = user_id;
  insert(tx, action, std::nullopt, target, details, who);
}

void record_for(db::Tx& tx, const Requester& who, std::string_view action, std::string_view target,
                std::string_view details) {
  insert(tx, action, std::nullopt, target, details, who);
}

void record_operation(db::Tx& tx, std::string_view target_kind, std::string_view target) {
  if (tx.requester() == nullptr) return;
  Requester who = recording_for(tx);
  const std::string& account = Claimant::of_thread().account;
  if (who.actor.empty()) who.actor = account.empty() ? "anonymous" : "user:" + account;
  insert(tx, who.operation, or_nothing(std::string(target_kind)), target, "{}", who);
}

Page<Entry> list(db::Tx& tx, const Filter& filter, const PageRequest& page) {
  return with_values(filter, [&](const auto&... values) {
    return read_page(tx, list_for(filter), page, entry_of, values...);
  });
}

Part read(db::Tx& tx, const Filter& filter, const std::string& before, int limit) {
  const Filter by = indexed_part(filter);
  Part part;
  int looked_at = 0;
  db::Query rows = with_values(by, [&](const auto&... values) {
    return tx.query(list_for(by).rows, values..., before.empty() ? last_id : before, limit, 0);
  });
  while (rows.next()) {
    ++looked_at;
    Entry entry = entry_of(rows);
    part.last = entry.id;
    if (matches(filter, entry)) part.entries.push_back(std::move(entry));
  }
  part.is_end = looked_at < limit;
  return part;
}

int erase_details(db::Tx& tx, std::initializer_list<std::string> targets, int limit) {
  int erased = 0;
  for (const std::string& target : targets) {
    if (erased >= limit) break;
    const auto found = read_stored(tx.query(
        R"(
        SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id,
               token_kind, token_id, network, request_id, details, at, salt, commitment, chain
        FROM audit_log
        WHERE target = $1 AND details <> '{}'
        LIMIT $2)",
        target, limit - erased));
    for (const Stored& one : found) {
      commit_to(tx, one);
      erased += tx.execute(R"(UPDATE audit_log SET details = '{}' WHERE id = $1)", one.entry.id);
    }
  }
  return erased;
}

int erase_of_user(db::Tx& tx, const std::string& user_id, int limit) {
  const auto found = read_stored(tx.query(
      R"(
      SELECT id, number, actor, action, operation, target, target_kind, app_id, user_id, token_kind,
             token_id, network, request_id, details, at, salt, commitment, chain
      FROM audit_log
      WHERE user_id = $1
      LIMIT $2)",
      user_id, limit));
  for (const Stored& one : found) {
    commit_to(tx, one);
    tx.execute(
        R"(
        UPDATE audit_log
        SET user_id = NULL, token_id = NULL, network = NULL, request_id = NULL, operation = $2,
            details = '{}'
        WHERE id = $1)",
        one.entry.id, or_nothing(one.entry.operation));
  }
  return int(found.size());
}

// The number of the last entry that may be removed: that before the newest checkpoint that is old
// enough, so that what is left of the chain begins at a checkpoint.
constexpr std::string_view newest_old_checkpoint = R"(
      SELECT number FROM audit_checkpoints WHERE at <= $1 ORDER BY at DESC, number DESC LIMIT 1)";

bool is_any_old(db::Tx& tx) {
  const std::int64_t number = tx.number(newest_old_checkpoint, tx.now() - kept_for);
  return number > 0 &&
         tx.number(R"(SELECT 1 FROM audit_log WHERE number <= $1 LIMIT 1)", number) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const std::int64_t number = tx.number(newest_old_checkpoint, tx.now() - kept_for);
  if (number == 0) return 0;
  // First, so that the chain never seems to begin with entries that are gone.
  tx.execute(R"(
      DELETE FROM audit_checkpoints
      WHERE number IN (SELECT number FROM audit_checkpoints WHERE number < $1 LIMIT $2))",
             number, limit);
  return tx.execute(
      R"(
      DELETE FROM audit_log
      WHERE id IN (SELECT id FROM audit_log WHERE number <= $1 ORDER BY number LIMIT $2))",
      number, limit);
}

}  // namespace berth::audit
