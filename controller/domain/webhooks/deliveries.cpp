// The deliveries that wait for webhooks, and their results.
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/webhooks/app_events.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::webhooks {
namespace {

constexpr size_t kept_of_an_error = 300;
constexpr int gone = 410;  // RFC 9110, section 15.5.11

const std::string select_deliveries = R"(
    SELECT d.id AS number, d.state, d.uuid AS id, e.uuid AS event_id, e.type, d.subject, d.attempts,
           d.next_attempt_at, d.last_attempt_at, d.response_status, d.last_error, d.created_at,
           d.done_at
    FROM webhook_deliveries d
    JOIN app_events e ON e.id = d.event_id )";

Delivery delivery_of(const db::Query& row) {
  const auto state = db::enum_of<DeliveryState>(row, "state");
  return {.id = row.text("id"),
          .event_id = row.text("event_id"),
          .type = row.text("type"),
          .subject = row.text("subject"),
          .state = state,
          .attempts = int(row.integer("attempts")),
          .next_attempt_at = state == DeliveryState::waiting
                                 ? std::optional(row.instant("next_attempt_at"))
                                 : std::nullopt,
          .last_attempt_at = row.instant_or_null("last_attempt_at"),
          .response_status = row.integer_or_null("response_status"),
          .error = row.text_or_null("last_error"),
          .created_at = row.instant("created_at"),
          .done_at = row.instant_or_null("done_at")};
}

// Sets the next attempt of all waiting deliveries of the webhook (for the subject, if one is given)
// to `until`.
void put_off(db::Tx& tx, const std::string& webhook_id, const std::optional<std::string>& subject,
             Instant until) {
  tx.execute(R"(
      UPDATE webhook_deliveries
      SET next_attempt_at = $3
      WHERE webhook_id = $1 AND state = 'waiting' AND (subject = $2 OR $2 IS NULL))",
             webhook_id, subject, until);
}

void finish(db::Tx& tx, std::int64_t id, DeliveryState state, const Outcome& outcome) {
  tx.require_change(R"(
      UPDATE webhook_deliveries
      SET state = $2, response_status = $3, last_error = $4, done_at = $5
      WHERE id = $1 AND state = 'waiting')",
                    id, to_string(state), outcome.status, outcome.error, tx.now());
}

// The receiver doesn't want events any more (Standard Webhooks 1.0.0, "Operational
// considerations").
void end(db::Tx& tx, const std::string& webhook_id, const Outcome& outcome) {
  tx.execute(R"(
      UPDATE webhook_deliveries
      SET state = $2, response_status = $3, last_error = $4, done_at = $5
      WHERE webhook_id = $1 AND state = 'waiting')",
             webhook_id, to_string(DeliveryState::failed), outcome.status, outcome.error, tx.now());
  tx.execute(R"(UPDATE webhooks SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL)", webhook_id,
             tx.now());
}

}  // namespace

Page<Delivery> deliveries(db::Tx& tx, const Webhook& webhook, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM webhook_deliveries WHERE webhook_id = $1 LIMIT $2) counted)",
                              .rows = select_deliveries + R"(
      WHERE d.webhook_id = $1 AND d.id < $2
      ORDER BY d.id DESC
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::integer, "number"}}};
  return read_page(tx, sql, page, delivery_of, webhook.id);
}

Delivery test(db::Tx& tx, const Webhook& webhook) {
  tx.require_serializable();
  const std::string subject = "test:" + webhook.id;
  if (tx.number(R"(
      SELECT 1 AS waiting
      FROM webhook_deliveries
      WHERE webhook_id = $1 AND subject = $2 AND state = 'waiting'
      LIMIT 1)",
                webhook.id, subject) != 0)
    throw Error(Code::invalid_state, "the last test is still waiting to be delivered");
  // No webhook subscribes to this type, so its delivery is created here.
  emit(tx, webhook.app_id, test_type, subject, {{"webhook_id", webhook.id}});
  tx.execute(R"(
      INSERT INTO webhook_deliveries (webhook_id, event_id, subject, next_attempt_at, created_at)
      SELECT $1, max(id), $2, $3, $3
      FROM app_events
      WHERE subject = $2)",
             webhook.id, subject, tx.now());
  static const std::string sql = select_deliveries + R"(
      WHERE d.webhook_id = $1
      ORDER BY d.id DESC
      LIMIT 1)";
  auto rows = tx.query(sql, webhook.id);
  rows.next();
  return delivery_of(rows);
}

std::vector<Due> due(db::Tx& tx, const Shares& most) {
  std::vector<Due> found;
  // MATERIALIZED, because SQLite otherwise goes through the deliveries of all times by webhook.
  auto rows = tx.query(R"(
      WITH first_of_subjects AS MATERIALIZED (
        SELECT d.id, d.webhook_id, a.owner_id, d.subject, d.next_attempt_at
        FROM webhook_deliveries d
        JOIN webhooks w ON w.id = d.webhook_id
        JOIN apps a ON a.id = w.app_id
        WHERE d.state = 'waiting'
          AND d.next_attempt_at <= $1
          AND NOT EXISTS (
            SELECT 1
            FROM webhook_deliveries earlier
            WHERE earlier.webhook_id = d.webhook_id
              AND earlier.subject = d.subject
              AND earlier.state = 'waiting'
              AND earlier.id < d.id)
      )
      SELECT id, webhook_id, owner_id, subject
      FROM (
        SELECT *, row_number() OVER (PARTITION BY owner_id ORDER BY next_attempt_at, id) AS turn
        FROM (
          SELECT *, row_number() OVER (PARTITION BY webhook_id ORDER BY id) AS place
          FROM first_of_subjects
        ) AS of_webhooks
        WHERE place <= $2
      ) AS of_owners
      WHERE turn <= $3
      ORDER BY turn, next_attempt_at, id
      LIMIT $4)",
                       tx.now(), most.of_webhook, most.of_owner, most.of_all);
  while (rows.next())
    found.push_back({.id = rows.integer("id"),
                     .webhook_id = rows.text("webhook_id"),
                     .owner_id = rows.text("owner_id"),
                     .subject = rows.text("subject")});
  return found;
}

int attempts_of(db::Tx& tx, std::int64_t id) {
  return int(tx.number(R"(
      SELECT attempts
      FROM webhook_deliveries
      WHERE id = $1)",
                       id));
}

std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, std::int64_t id,
                                     Instant retry_at) {
  const int counted = tx.execute(R"(
      UPDATE webhook_deliveries
      SET attempts = attempts + 1, last_attempt_at = $2
      WHERE id = $1 AND state = 'waiting' AND next_attempt_at <= $2)",
                                 id, tx.now());
  if (counted != 1) return std::nullopt;
  auto rows = tx.query(R"(
      SELECT d.webhook_id, d.subject, w.secret_sealed, d.uuid AS delivery_id, a.owner_id, w.url,
             e.uuid AS event_id, e.type, e.data, e.at, d.attempts
      FROM webhook_deliveries d
      JOIN webhooks w ON w.id = d.webhook_id
      JOIN apps a ON a.id = w.app_id
      JOIN app_events e ON e.id = d.event_id
      WHERE d.id = $1)",
                       id);
  rows.next();
  put_off(tx, rows.text("webhook_id"), rows.text("subject"), retry_at);
  const auto sealed = parse_base64(rows.text("secret_sealed"));
  const auto secret =
      sealed ? open_sealed(data_key, *sealed, "webhook:" + rows.text("webhook_id")) : std::nullopt;
  if (!secret) {
    finish(tx, id, DeliveryState::failed,
           {.status = {}, .error = "the webhook's secret can't be decrypted with this data key"});
    return std::nullopt;
  }
  return Attempt{.id = id,
                 .delivery_id = rows.text("delivery_id"),
                 .webhook_id = rows.text("webhook_id"),
                 .owner_id = rows.text("owner_id"),
                 .url = rows.text("url"),
                 .secret = *secret,
                 .event_id = rows.text("event_id"),
                 .type = rows.text("type"),
                 .data = nlohmann::json::parse(rows.text("data")),
                 .event_at = rows.instant("at"),
                 .number = int(rows.integer("attempts"))};
}

Settled settle(db::Tx& tx, const Attempt& attempt, const Outcome& outcome, Instant retry_at) {
  Outcome kept = outcome;
  if (kept.error) kept.error = cut(*kept.error, kept_of_an_error);
  auto row = tx.query(R"(
      SELECT subject, created_at
      FROM webhook_deliveries
      WHERE id = $1 AND state = 'waiting')",
                      attempt.id);
  // The webhook has been deleted in the meantime, or has ended, or another berthd, which had taken
  // this one for dead, has settled the delivery.
  if (!row.next()) return Settled::failed;
  const std::string subject = row.text("subject");
  if (!kept.error) {
    finish(tx, attempt.id, DeliveryState::delivered, kept);
    put_off(tx, attempt.webhook_id,
            attempt.number > 1 ? std::nullopt : std::optional<std::string>(subject), tx.now());
    return Settled::delivered;
  }
  if (kept.status == gone) {
    end(tx, attempt.webhook_id, kept);
    return Settled::ended;
  }
  if (tx.now() - row.instant("created_at") >= given_up_after) {
    finish(tx, attempt.id, DeliveryState::failed, kept);
    put_off(tx, attempt.webhook_id, subject, tx.now());
    return Settled::failed;
  }
  tx.require_change(R"(
      UPDATE webhook_deliveries
      SET response_status = $2, last_error = $3
      WHERE id = $1 AND state = 'waiting')",
                    attempt.id, kept.status, kept.error);
  put_off(tx, attempt.webhook_id, subject, retry_at);
  return Settled::waits;
}

bool is_anything_old(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1 AS old
      FROM webhook_deliveries
      WHERE done_at <= $1 AND done_at IS NOT NULL
      LIMIT 1)",
                   tx.now() - done_kept_for) != 0 ||
         app_events::is_any_old(tx);
}

int remove_old(db::Tx& tx, int most) {
  const int removed = tx.execute(R"(
      DELETE FROM webhook_deliveries
      WHERE id IN (
        SELECT id
        FROM webhook_deliveries
        WHERE done_at <= $1 AND done_at IS NOT NULL
        LIMIT $2))",
                                 tx.now() - done_kept_for, most);
  return removed + app_events::remove_old(tx, most);
}

}  // namespace berth::webhooks
