#include "controller/domain/webhooks/alerts.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/base/visible_text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::alerts {
namespace {

using nlohmann::json;

constexpr size_t kept_of_an_error = 300;

const std::string select_alerts = R"(
    SELECT id, owner_id, app_id, name, channel, target, events, last_sent_at, last_error,
           failing_since, disabled_at, created_at, updated_at,
           (SELECT count(*) FROM alert_events e WHERE e.alert_id = alerts.id) AS waiting
    FROM alerts )";

Alert alert_of(const db::Query& row) {
  return {.id = row.text("id"),
          .owner_id = row.text("owner_id"),
          .app_id = row.text_or_null("app_id"),
          .name = row.text("name"),
          .channel = db::enum_of<Channel>(row, "channel"),
          .target = row.text("target"),
          .events = json::parse(row.text("events")).get<std::vector<std::string>>(),
          .waiting = row.integer("waiting"),
          .last_sent_at = row.instant_or_null("last_sent_at"),
          .last_error = row.text_or_null("last_error"),
          .failing_since = row.instant_or_null("failing_since"),
          .disabled_at = row.instant_or_null("disabled_at"),
          .created_at = row.instant("created_at"),
          .updated_at = row.instant("updated_at")};
}

void check_name(const std::string& name) {
  if (name.empty() || is_blank(name) || characters(name) > max_name_length)
    throw invalid_field("name",
                        "must have 1 to " + std::to_string(max_name_length) + " characters");
}

void check_events(const std::vector<std::string>& events) {
  if (events.empty()) throw invalid_field("events", "must name at least one type");
  if (std::set(events.begin(), events.end()).size() != events.size())
    throw invalid_field("events", "must not name a type twice");
  for (const std::string& type : events)
    if (std::ranges::find(types, type) == types.end())
      throw invalid_field("events", "has the unknown type " + shown(type));
}

// The token is a part of a path, so that it must not end that part.
bool is_bot_token(const std::string& token) {
  const size_t colon = token.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == token.size() ||
      token.size() > max_bot_token_length)
    return false;
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto secret = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_');
  };
  return std::ranges::all_of(token.substr(0, colon), digit) &&
         std::ranges::all_of(token.substr(colon + 1), secret);
}

bool is_chat_id(const std::string& chat) {
  if (chat.empty() || chat.size() > max_chat_id_length) return false;
  const bool is_name = chat.front() == '@';
  const std::string rest = is_name || chat.front() == '-' ? chat.substr(1) : chat;
  return !rest.empty() && std::ranges::all_of(rest, [&](unsigned char c) {
    return c < 0x80 && (std::isdigit(c) != 0 || (is_name && (std::isalpha(c) != 0 || c == '_')));
  });
}

void check_url(const std::string& url, webhooks::Schemes schemes) {
  if (const auto reason = webhooks::refuse_url(url, schemes))
    throw invalid_field("target.url", *reason);
}

// Checks that exactly the fields are set that the channel has, and returns the target with what
// berth adds.
Target checked(Channel channel, Target target, webhooks::Schemes schemes) {
  const bool has_telegram = !target.bot_token.empty() || !target.chat_id.empty();
  if (channel == Channel::telegram) {
    if (!is_bot_token(target.bot_token))
      throw invalid_field("target.bot_token",
                          "must be the token that @BotFather gave, such as 123456:ABC-DEF");
    if (!is_chat_id(target.chat_id))
      throw invalid_field("target.chat_id",
                          "must be the number of a chat, or @ and the name of a public channel");
    if (target.url.empty()) target.url = telegram_server;
    check_url(target.url, schemes);
    const auto url = parse_url(target.url);
    if (!url || !(url->rest.empty() || url->rest == "/"))
      throw invalid_field("target.url", "must be a server alone, without a path");
    target.url = url->origin();
    return target;
  }
  if (has_telegram)
    throw invalid_field(target.bot_token.empty() ? "target.chat_id" : "target.bot_token",
                        "is for Telegram alone");
  if (channel == Channel::mail) {
    if (!target.url.empty())
      throw invalid_field("target.url", "must be left out: mail goes to the account's address");
    return target;
  }
  if (target.url.empty()) throw invalid_field("target.url", "is required");
  check_url(target.url, schemes);
  return target;
}

// What may be shown: the rest of such a URL is what protects the channel.
std::string shown_of(Channel channel, const Target& target) {
  if (channel == Channel::mail) return "";
  if (channel == Channel::telegram) return target.chat_id;
  const auto url = parse_url(target.url);
  return url ? url->authority() : "";
}

std::optional<std::string> sealed(Channel channel, const Target& target, const std::string& id,
                                  const std::string& data_key) {
  if (channel == Channel::mail) return std::nullopt;
  const json content = {{"url", target.url},
                        {"bot_token", target.bot_token},
                        {"chat_id", target.chat_id},
                        {"secret", target.secret}};
  return base64(seal(data_key, content.dump(), "alert:" + id));
}

// Returns nothing if the text can't be decrypted with this key.
std::optional<Target> opened(const std::optional<std::string>& sealed, const std::string& id,
                             const std::string& data_key) {
  if (!sealed) return Target();
  const auto bytes = parse_base64(*sealed);
  const auto plain = bytes ? open_sealed(data_key, *bytes, "alert:" + id) : std::nullopt;
  if (!plain) return std::nullopt;
  const json content = json::parse(*plain);
  return Target{.url = content.at("url"),
                .bot_token = content.at("bot_token"),
                .chat_id = content.at("chat_id"),
                .secret = content.at("secret")};
}

// Nothing of the alert is sent before.
void put_off(db::Tx& tx, const std::string& alert_id, Instant until) {
  tx.execute(R"(UPDATE alert_events SET due_at = $2 WHERE alert_id = $1)", alert_id, until);
}

std::string failure_to_decrypt() { return "its target can't be decrypted with this data key"; }

// Whether the receiver won't take it later, either: RFC 9110, section 15.5.
bool is_refused_for_good(const webhooks::Outcome& outcome) {
  const int status = outcome.status.value_or(0);
  return status >= 400 && status < 500 && status != 408 && status != 429;
}

bool has_failed_enough(const Message& message, const webhooks::Outcome& outcome,
                       std::optional<Instant> failing_since, Instant now) {
  if (outcome.status == 410) return true;
  if (is_refused_for_good(outcome) && message.attempt >= refusals_until_disabled) return true;
  return failing_since && now - *failing_since >= given_up_after;
}

void require_room(db::Tx& tx, const std::string& owner_id, Channel channel) {
  if (tx.number(R"(SELECT count(*) FROM alerts WHERE owner_id = $1)", owner_id) >= max_of_account)
    throw Error(Code::invalid_state,
                "an account may have at most " + std::to_string(max_of_account) + " alerts");
  if (channel == Channel::mail &&
      tx.number(R"(SELECT count(*) FROM alerts WHERE owner_id = $1 AND channel = 'mail')",
                owner_id) >= max_mail_alerts)
    throw Error(Code::invalid_state, "an account may have at most " +
                                         std::to_string(max_mail_alerts) +
                                         " alerts by mail, which all go to its own address");
}

}  // namespace

AlertWithSecret create(db::Tx& tx, const std::string& owner_id, const NewAlert& wanted,
                       webhooks::Schemes schemes, const std::string& data_key) {
  tx.require_serializable();
  check_name(wanted.name);
  check_events(wanted.events);
  Target target = checked(wanted.channel, wanted.target, schemes);
  if (wanted.channel == Channel::webhook) target.secret = webhooks::new_secret();
  require_room(tx, owner_id, wanted.channel);
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO alerts (id, owner_id, app_id, name, channel, target, target_sealed, events,
                          created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9))",
             id, owner_id, wanted.app_id, wanted.name, to_string(wanted.channel),
             shown_of(wanted.channel, target), sealed(wanted.channel, target, id, data_key),
             json(wanted.events).dump(), tx.now());
  AlertWithSecret made = {.alert = get(tx, owner_id, id), .secret = {}};
  if (!target.secret.empty()) made.secret = target.secret;
  return made;
}

Alert get(db::Tx& tx, const std::string& owner_id, const std::string& id) {
  static const std::string sql = select_alerts + R"(WHERE id = $1 AND owner_id = $2)";
  auto rows = tx.query(sql, id, owner_id);
  if (!rows.next()) throw Error(Code::alert_not_found, "the account has no such alert");
  return alert_of(rows);
}

Page<Alert> list(db::Tx& tx, const std::string& owner_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM alerts WHERE owner_id = $1 LIMIT $2) counted)",
      .rows = select_alerts + R"(
      WHERE owner_id = $1 AND (created_at, id) > ($2, $3)
      ORDER BY created_at, id
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "created_at"}, {SortColumn::Type::text, "id"}},
      .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, alert_of, owner_id);
}

Alert change(db::Tx& tx, const Alert& alert, const Change& change, webhooks::Schemes schemes,
             const std::string& data_key) {
  tx.require_serializable();
  if (change.name) check_name(*change.name);
  if (change.events) check_events(*change.events);
  if (change.target) {
    Target target = checked(alert.channel, *change.target, schemes);
    auto rows = tx.query(R"(SELECT target_sealed FROM alerts WHERE id = $1)", alert.id);
    rows.next();
    const auto before = opened(rows.text_or_null("target_sealed"), alert.id, data_key);
    if (alert.channel == Channel::webhook) {
      if (!before) throw Error(Code::invalid_state, failure_to_decrypt());
      target.secret = before->secret;
    }
    tx.execute(R"(UPDATE alerts SET target = $2, target_sealed = $3 WHERE id = $1)", alert.id,
               shown_of(alert.channel, target), sealed(alert.channel, target, alert.id, data_key));
  }
  tx.execute(R"(
      UPDATE alerts
      SET name = $2, app_id = $3, events = $4, updated_at = $5, attempts = 0, failing_since = NULL,
          last_error = NULL, disabled_at = NULL,
          not_before = CASE WHEN channel = 'mail' THEN not_before ELSE $5 END
      WHERE id = $1)",
             alert.id, change.name.value_or(alert.name), change.app_id.value_or(alert.app_id),
             json(change.events.value_or(alert.events)).dump(), tx.now());
  // The pause between mails isn't over earlier because of a change.
  if (alert.channel != Channel::mail) put_off(tx, alert.id, tx.now());
  tx.notify(db::Topic::webhook, alert.id);
  return get(tx, alert.owner_id, alert.id);
}

void remove(db::Tx& tx, const Alert& alert) {
  tx.execute(R"(DELETE FROM alert_events WHERE alert_id = $1)", alert.id);
  tx.execute(R"(DELETE FROM alerts WHERE id = $1)", alert.id);
}

void remove_of_app(db::Tx& tx, const std::string& owner_id, const std::string& app_id) {
  tx.execute(
      R"(
      DELETE FROM alert_events
      WHERE alert_id IN (SELECT id FROM alerts WHERE owner_id = $1 AND app_id = $2))",
      owner_id, app_id);
  tx.execute(R"(DELETE FROM alerts WHERE owner_id = $1 AND app_id = $2)", owner_id, app_id);
}

Alert test(db::Tx& tx, const Alert& alert) {
  tx.require_serializable();
  if (alert.disabled_at)
    throw Error(Code::invalid_state, "the alert is disabled; change it, and it begins again");
  if (tx.number(R"(SELECT count(*) FROM alert_events WHERE alert_id = $1 AND type = $2)", alert.id,
                test_type) > 0)
    throw Error(Code::invalid_state, "the last test is still waiting to be sent");
  if (alert.channel != Channel::mail) {
    tx.execute(R"(UPDATE alerts SET not_before = $2 WHERE id = $1 AND not_before > $2)", alert.id,
               tx.now());
    put_off(tx, alert.id, tx.now());
  }
  tx.execute(R"(
      INSERT INTO alert_events (alert_id, app_id, uuid, type, data, at, due_at)
      SELECT id, app_id, $2, $3, '{}', $4, CASE WHEN not_before > $4 THEN not_before ELSE $4 END
      FROM alerts
      WHERE id = $1)",
             alert.id, new_uuid(tx.now()), test_type, tx.now());
  tx.notify(db::Topic::webhook, alert.id);
  return get(tx, alert.owner_id, alert.id);
}

std::vector<Due> due(db::Tx& tx, int most) {
  std::vector<Due> found;
  // MATERIALIZED, because SQLite otherwise goes through all that waits, by alert.
  auto rows = tx.query(R"(
      WITH due_events AS MATERIALIZED (
        SELECT alert_id, due_at
        FROM alert_events
        WHERE due_at <= $1
      )
      SELECT alert_id, owner_id
      FROM (
        SELECT d.alert_id, a.owner_id, d.due_at,
               row_number() OVER (PARTITION BY a.owner_id ORDER BY d.due_at, d.alert_id) AS turn
        FROM (SELECT alert_id, min(due_at) AS due_at FROM due_events GROUP BY alert_id) AS d
        JOIN alerts a ON a.id = d.alert_id
      ) AS of_owners
      ORDER BY turn, due_at, alert_id
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next())
    found.push_back({.alert_id = rows.text("alert_id"), .owner_id = rows.text("owner_id")});
  return found;
}

int attempts_of(db::Tx& tx, const std::string& alert_id) {
  return int(tx.number(R"(SELECT attempts FROM alerts WHERE id = $1)", alert_id));
}

std::optional<Message> begin(db::Tx& tx, const std::string& data_key, const std::string& alert_id,
                             Instant retry_at) {
  const int counted = tx.execute(R"(
      UPDATE alerts
      SET attempts = attempts + 1, not_before = $2
      WHERE id = $1 AND disabled_at IS NULL AND not_before <= $3)",
                                 alert_id, retry_at, tx.now());
  if (counted != 1) {
    tx.execute(R"(
        DELETE FROM alert_events
        WHERE alert_id = $1
          AND EXISTS (SELECT 1 FROM alerts WHERE id = $1 AND disabled_at IS NOT NULL))",
               alert_id);
    // What waits became due before the alert did, so that it would be looked at all the time.
    tx.execute(R"(
        UPDATE alert_events
        SET due_at = (SELECT not_before FROM alerts WHERE id = $1)
        WHERE alert_id = $1
          AND due_at < (SELECT not_before FROM alerts WHERE id = $1))",
               alert_id);
    return std::nullopt;
  }
  put_off(tx, alert_id, retry_at);
  tx.execute(R"(DELETE FROM alert_events WHERE alert_id = $1 AND at < $2)", alert_id,
             tx.now() - told_within);
  Message message = {.alert_id = alert_id};
  {
    auto rows = tx.query(R"(
        SELECT name, owner_id, channel, target_sealed, attempts
        FROM alerts
        WHERE id = $1)",
                         alert_id);
    rows.next();
    message.alert_name = rows.text("name");
    message.owner_id = rows.text("owner_id");
    message.channel = db::enum_of<Channel>(rows, "channel");
    message.attempt = int(rows.integer("attempts"));
    const auto target = opened(rows.text_or_null("target_sealed"), alert_id, data_key);
    if (!target) {
      disable(tx, alert_id, failure_to_decrypt());
      return std::nullopt;
    }
    message.target = *target;
  }
  auto rows = tx.query(R"(
      SELECT e.number, e.uuid, e.type, e.app_id, p.app_name, e.data, e.at
      FROM alert_events e
      LEFT JOIN apps p ON p.id = e.app_id
      WHERE e.alert_id = $1
      ORDER BY e.number
      LIMIT $2)",
                       alert_id, 2 * max_waiting);
  while (rows.next()) {
    message.last_number = rows.integer("number");
    message.events.push_back({.id = rows.text("uuid"),
                              .type = rows.text("type"),
                              .app_id = rows.text_or_null("app_id").value_or(""),
                              .app_name = rows.text_or_null("app_name").value_or(""),
                              .data = json::parse(rows.text("data")),
                              .at = rows.instant("at")});
  }
  if (message.events.empty()) return std::nullopt;
  std::ranges::stable_partition(
      message.events, [](const Event& event) { return event.type != webhooks::spend_type; });
  message.more = std::max(int(message.events.size()) - max_told, 0);
  message.events.resize(message.events.size() - size_t(message.more));
  return message;
}

Settled settle(db::Tx& tx, const Message& message, const webhooks::Outcome& outcome,
               Instant retry_at) {
  if (!outcome.error) {
    const Instant until = tx.now() + pause_after(message.channel);
    tx.execute(R"(DELETE FROM alert_events WHERE alert_id = $1 AND number <= $2)", message.alert_id,
               message.last_number);
    tx.execute(R"(
        UPDATE alerts
        SET attempts = 0, failing_since = NULL, last_error = NULL, last_sent_at = $2, not_before = $3
        WHERE id = $1)",
               message.alert_id, tx.now(), until);
    put_off(tx, message.alert_id, until);
    return Settled::sent;
  }
  std::optional<Instant> failing_since;
  {
    auto rows = tx.query(R"(
        SELECT failing_since, attempts
        FROM alerts
        WHERE id = $1 AND disabled_at IS NULL)",
                         message.alert_id);
    // The alert was deleted meanwhile.
    if (!rows.next()) return Settled::disabled;
    // It was changed meanwhile, so this says nothing of where the next message goes.
    if (rows.integer("attempts") < message.attempt) return Settled::waits;
    failing_since = rows.instant_or_null("failing_since");
  }
  const std::string error = cut(*outcome.error, kept_of_an_error);
  if (has_failed_enough(message, outcome, failing_since, tx.now())) {
    disable(tx, message.alert_id, error);
    return Settled::disabled;
  }
  tx.execute(R"(
      UPDATE alerts
      SET last_error = $2, failing_since = $3, not_before = $4
      WHERE id = $1)",
             message.alert_id, error, failing_since.value_or(tx.now()), retry_at);
  put_off(tx, message.alert_id, retry_at);
  return Settled::waits;
}

void disable(db::Tx& tx, const std::string& alert_id, const std::string& reason) {
  tx.execute(R"(
      UPDATE alerts
      SET disabled_at = $2, last_error = $3
      WHERE id = $1 AND disabled_at IS NULL)",
             alert_id, tx.now(), reason);
  tx.execute(R"(DELETE FROM alert_events WHERE alert_id = $1)", alert_id);
}

}  // namespace berth::alerts
