#include "controller/domain/webhooks/webhooks.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/url.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::webhooks {
namespace {

const std::string select_webhooks = R"(
    SELECT id, app_id, url, events, created_at, updated_at, ended_at
    FROM webhooks )";

Webhook webhook_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .url = row.text("url"),
          .events = nlohmann::json::parse(row.text("events")).get<std::vector<std::string>>(),
          .created_at = row.instant("created_at"),
          .updated_at = row.instant("updated_at"),
          .ended_at = row.instant_or_null("ended_at")};
}

constexpr size_t key_bytes = 32;  // Standard Webhooks wants 24 to 64

std::string sealed(const std::string& secret, const std::string& webhook_id,
                   const std::string& data_key) {
  return base64(seal(data_key, secret, "webhook:" + webhook_id));
}

void check_url(const std::string& url, Schemes schemes) {
  if (const auto reason = refuse_url(url, schemes)) throw invalid_field("url", *reason);
}

void check_events(const std::vector<std::string>& events) {
  if (events.empty()) throw invalid_field("events", "must name at least one type");
  if (std::set(events.begin(), events.end()).size() != events.size())
    throw invalid_field("events", "must not name a type twice");
  for (const std::string& type : events)
    if (std::ranges::find(types, type) == types.end())
      throw invalid_field("events", "has the unknown type " + type);
}

// `but` is the webhook that has, or gets, the URL.
void require_other_url(db::Tx& tx, const std::string& app_id, const std::string& url,
                       const std::string& but) {
  if (tx.number(R"(
      SELECT count(*)
      FROM webhooks
      WHERE app_id = $1 AND url = $2 AND id <> $3)",
                app_id, url, but) > 0)
    throw invalid_field("url",
                        "is that of another webhook of this app, which would get each event twice");
}

}  // namespace

std::string new_secret() { return std::string(secret_prefix) + base64(random_bytes(key_bytes)); }

std::optional<std::string> refuse_url(const std::string& url, Schemes schemes) {
  if (url.size() > max_url_length)
    return "must have at most " + std::to_string(max_url_length) + " characters";
  const bool printable =
      std::ranges::all_of(url, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
  if (!printable) return "must be ASCII without blanks";
  const bool https = url.starts_with("https://");
  if (!https && !(schemes == Schemes::http_too && url.starts_with("http://")))
    return schemes == Schemes::http_too ? "must begin with https:// or http://"
                                        : "must begin with https://";
  if (url.find('#') != std::string::npos) return "must not have a fragment";
  const auto read = parse_url(url);
  if (!read)
    return "must have a host (a name or an address); a port, if any, must be from 1 to 65535";
  if (read->has_user()) return "must not contain a user name";
  return std::nullopt;
}

WebhookWithSecret create(db::Tx& tx, const std::string& app_id, const std::string& url,
                         const std::vector<std::string>& events, Schemes schemes,
                         const std::string& data_key) {
  tx.require_serializable();
  check_url(url, schemes);
  check_events(events);
  if (tx.number(R"(SELECT count(*) FROM webhooks WHERE app_id = $1)", app_id) >= max_per_app)
    throw Error(Code::invalid_state,
                "an app may have at most " + std::to_string(max_per_app) + " webhooks");
  const std::string id = new_uuid(tx.now());
  require_other_url(tx, app_id, url, id);
  const std::string secret = new_secret();
  tx.execute(R"(
      INSERT INTO webhooks (id, app_id, url, secret_sealed, events, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $6))",
             id, app_id, url, sealed(secret, id, data_key), nlohmann::json(events).dump(),
             tx.now());
  return {.webhook = get(tx, app_id, id), .secret = secret};
}

Webhook get(db::Tx& tx, const std::string& app_id, const std::string& id) {
  static const std::string sql = select_webhooks + R"(WHERE id = $1 AND app_id = $2)";
  auto rows = tx.query(sql, id, app_id);
  if (!rows.next()) throw Error(Code::webhook_not_found, "the app has no such webhook");
  return webhook_of(rows);
}

Page<Webhook> list(db::Tx& tx, const std::string& app_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM webhooks WHERE app_id = $1 LIMIT $2) counted)",
      .rows = select_webhooks + R"(
      WHERE app_id = $1 AND (created_at, id) > ($2, $3)
      ORDER BY created_at, id
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "created_at"}, {SortColumn::Type::text, "id"}},
      .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, webhook_of, app_id);
}

Webhook change(db::Tx& tx, const Webhook& webhook, const Change& change, Schemes schemes) {
  tx.require_serializable();
  if (change.url && *change.url != webhook.url) {
    check_url(*change.url, schemes);
    require_other_url(tx, webhook.app_id, *change.url, webhook.id);
  }
  if (change.events) check_events(*change.events);
  tx.execute(R"(
      UPDATE webhooks
      SET url = $2, events = $3, updated_at = $4, ended_at = NULL
      WHERE id = $1)",
             webhook.id, change.url.value_or(webhook.url),
             nlohmann::json(change.events.value_or(webhook.events)).dump(), tx.now());
  return get(tx, webhook.app_id, webhook.id);
}

WebhookWithSecret rotate_secret(db::Tx& tx, const Webhook& webhook, const std::string& data_key) {
  const std::string secret = new_secret();
  tx.execute(R"(
      UPDATE webhooks
      SET secret_sealed = $2, updated_at = $3
      WHERE id = $1)",
             webhook.id, sealed(secret, webhook.id, data_key), tx.now());
  return {.webhook = get(tx, webhook.app_id, webhook.id), .secret = secret};
}

void remove(db::Tx& tx, const Webhook& webhook) {
  tx.execute(R"(DELETE FROM webhook_deliveries WHERE webhook_id = $1)", webhook.id);
  tx.execute(R"(DELETE FROM webhooks WHERE id = $1)", webhook.id);
}

void emit(db::Tx& tx, const std::string& app_id, std::string_view type, const std::string& subject,
          const nlohmann::json& data) {
  tx.execute(R"(
      INSERT INTO app_events (app_id, type, subject, data, at)
      VALUES ($1, $2, $3, $4, $5))",
             app_id, type, subject,
             data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), tx.now());
  // Who has followed the events up to this one wouldn't get the one that had its id after a crash.
  tx.keep_rows_until_stored();
  tx.notify(db::Topic::webhook, app_id);
}

}  // namespace berth::webhooks
