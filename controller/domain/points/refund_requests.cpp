#include "controller/domain/points/refund_requests.h"

#include <vector>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::refund_requests {
namespace {

using messages::say;
using nlohmann::json;
using points::Initiator;

constexpr int tidied_at_once = 100;  // requests in one write

Request request_of(const db::Query& row) {
  return {.id = row.text("id"),
          .subject = db::enum_of<Subject>(row, "subject"),
          .subject_id = row.text("subject_id"),
          .user_id = row.text("user_id"),
          .app_id = row.text("app_id"),
          .amount = row.integer("amount"),
          .reason = row.text("reason"),
          .status = db::enum_of<Status>(row, "status"),
          .note = row.text_or_null("note"),
          .refunded = row.integer_or_null("refunded"),
          .answered_by = db::enum_or_null<Initiator>(row, "answered_by"),
          .inserted_at = row.instant("inserted_at"),
          .closed_at = row.instant_or_null("closed_at")};
}

const std::string select_requests = R"(
    SELECT id, subject, subject_id, user_id, app_id, amount, reason, status, note, refunded,
           answered_by, inserted_at, closed_at
    FROM refund_requests
    )";
const std::string select_request = select_requests + R"(WHERE id = $1)";
const std::string select_open_of_subject =
    select_requests + R"(WHERE subject_id = $1 AND status = 'open' AND subject = $2)";
const std::string select_overdue = select_requests + R"(
    WHERE status = 'open' AND inserted_at <= $1
    ORDER BY inserted_at, id
    LIMIT $2)";

// The lists, one for each set of filters, because each has an index of its own.
const std::vector<SortColumn> by_time = {{SortColumn::Type::integer, "inserted_at"},
                                         {SortColumn::Type::text, "id"}};
const ListSql all_requests = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM refund_requests LIMIT $1) counted)",
                              .rows = select_requests + R"(
    WHERE (inserted_at, id) < ($1, $2)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $3 OFFSET $4)",
                              .sorted_by = by_time};
const ListSql requests_in_status = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM refund_requests WHERE status = $1 LIMIT $2) counted)",
                                    .rows = select_requests + R"(
    WHERE status = $1 AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                    .sorted_by = by_time};
const ListSql requests_of_user = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM refund_requests WHERE user_id = $1 LIMIT $2) counted)",
                                  .rows = select_requests + R"(
    WHERE user_id = $1 AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                  .sorted_by = by_time};
const ListSql requests_of_app = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one
          FROM refund_requests
          WHERE app_id = $1 AND subject = 'spend'
          LIMIT $2) counted)",
                                 .rows = select_requests + R"(
    WHERE app_id = $1 AND subject = 'spend' AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                 .sorted_by = by_time};
const ListSql requests_of_app_in_status = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one
          FROM refund_requests
          WHERE app_id = $1 AND subject = 'spend' AND status = $2
          LIMIT $3) counted)",
                                           .rows = select_requests + R"(
    WHERE app_id = $1 AND subject = 'spend' AND status = $2 AND (inserted_at, id) < ($3, $4)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $5 OFFSET $6)",
                                           .sorted_by = by_time};

Error no_such_request() { return Error(Code::not_found, "there is no such refund request"); }

void require_room(db::Tx& tx, const std::string& user_id, const std::string& subject_id) {
  const std::int64_t today = utc_day(tx.now());
  const std::int64_t of_today = tx.number(R"(
      SELECT count(*)
      FROM refund_requests
      WHERE user_id = $1 AND inserted_at >= $2)",
                                          user_id, start_of_day(today));
  if (of_today >= max_per_day) {
    Error refusal(Code::rate_limited, "you can ask for " + std::to_string(max_per_day) +
                                          " refunds on a day; the day ends at midnight UTC");
    refusal.retry_after =
        std::chrono::ceil<std::chrono::seconds>(start_of_day(today + 1) - tx.now());
    throw refusal;
  }
  auto rows = tx.query(R"(
      SELECT count(*) AS asked, coalesce(sum(CASE WHEN status = 'open' THEN 1 ELSE 0 END), 0) AS waits
      FROM refund_requests
      WHERE subject_id = $1)",
                       subject_id);
  rows.next();
  if (rows.integer("waits") > 0)
    throw Error(Code::invalid_state,
                "these points are asked for already; withdraw that request to "
                "ask for another amount");
  if (rows.integer("asked") >= max_per_subject)
    throw Error(Code::invalid_state, "these points were asked for " +
                                         std::to_string(max_per_subject) +
                                         " times; no more requests are taken for them");
}

json event_of(const Request& request) {
  const bool is_spend = request.subject == Subject::spend;
  return {{"id", request.id},
          {"app_id", request.app_id},
          {"spend_id", is_spend ? json(request.subject_id) : json()},
          {"deployment_id", is_spend ? json() : json(request.subject_id)},
          {"amount", request.amount},
          {"status", to_string(request.status)},
          {"refunded", request.refunded ? json(*request.refunded) : json()}};
}

// Tells the app's owner of the request, unless they have heard of one lately.
void tell_owner(db::Tx& tx, const Request& request, const Keys& keys) {
  const std::int64_t lately = tx.number(R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM refund_requests
            WHERE app_id = $1 AND subject = 'spend' AND inserted_at > $2
            LIMIT 2) counted)",
                                        request.app_id, tx.now() - letter_after);
  const auto app = apps::find(tx, request.app_id);
  const auto owner = app ? accounts::find(tx, app->owner_id) : std::nullopt;
  if (lately > 1 || !owner) return;
  const Language in = owner->language;
  const std::string sentence =
      say(in,
          "a user of \"{app}\" asks for {points} points back. You can answer on the app's page in "
          "the console; without an answer, the request is closed after 30 days.",
          {{"app", app->app_name}, {"points", std::to_string(request.amount)}});
  // The user's words aren't in it: berth's own letters say nothing in somebody else's name.
  accounts::send(tx, *owner, keys,
                 {.to = owner->email,
                  .subject = say(in, "Somebody asks for points back"),
                  .body = accounts::greeting(*owner) + sentence + "\n"});
}

std::string answer_in(Language in, const Request& request, const std::string& app_name) {
  const std::string points = std::to_string(request.refunded.value_or(request.amount));
  if (request.status == Status::approved)
    return say(in, "your request about \"{app}\" was approved: {points} points were given back.",
               {{"app", app_name}, {"points", points}});
  if (request.status == Status::rejected)
    return say(
        in, "your request about \"{app}\" was rejected: the {points} points won't be given back.",
        {{"app", app_name}, {"points", points}});
  return say(in,
             "nobody has answered your request about \"{app}\" for 30 days, so it was closed: "
             "the {points} points won't be given back.",
             {{"app", app_name}, {"points", points}});
}

// Tells whoever asked what became of the request.
void tell_asker(db::Tx& tx, const Request& request, const Keys& keys) {
  const auto user = accounts::find(tx, request.user_id);
  const auto app = apps::find(tx, request.app_id);
  if (!user) return;
  const Language in = user->language;
  std::string body =
      accounts::greeting(*user) + answer_in(in, request, app ? app->app_name : "") + "\n";
  if (request.note) body += "\n" + say(in, "The answer: {note}", {{"note", *request.note}}) + "\n";
  accounts::send(
      tx, *user, keys,
      {.to = user->email, .subject = say(in, "Your request for points back"), .body = body});
}

// What a request becomes.
struct Closed {
  Status status = Status::withdrawn;
  std::optional<std::string> note = {};
  std::optional<std::int64_t> refunded = {};
  std::optional<Initiator> by = {};
};
Request close(db::Tx& tx, const Request& request, const Closed& closed) {
  require_open(request);
  const auto by = closed.by ? std::optional(std::string(to_string(*closed.by))) : std::nullopt;
  tx.require_change(R"(
      UPDATE refund_requests
      SET status = $2, note = $3, refunded = $4, answered_by = $5, closed_at = $6
      WHERE id = $1 AND status = 'open')",
                    request.id, to_string(closed.status), closed.note, closed.refunded, by,
                    tx.now());
  return get(tx, request.id);
}

// Closes it with an answer, of which both sides hear.
Request answer(db::Tx& tx, const Request& request, const Closed& closed, const Keys& keys) {
  const Request answered = close(tx, request, closed);
  webhooks::emit(tx, answered.app_id, "refund.answered", answered.id, event_of(answered));
  tell_asker(tx, answered, keys);
  return answered;
}

std::optional<std::string> note_of(const Answer& answer) {
  return answer.note.empty() ? std::nullopt : std::optional(answer.note);
}

Initiator initiator_of(const Answer& answer) {
  return answer.admin ? Initiator::admin : Initiator::owner;
}

Request add(db::Tx& tx, const Request& request) {
  tx.require_serializable();
  require_room(tx, request.user_id, request.subject_id);
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO refund_requests
        (id, subject, subject_id, user_id, app_id, amount, reason, status, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8))",
             id, to_string(request.subject), request.subject_id, request.user_id, request.app_id,
             request.amount, request.reason, tx.now());
  const Request made = get(tx, id);
  webhooks::emit(tx, made.app_id, "refund.requested", made.id, event_of(made));
  return made;
}

std::int64_t wanted_of(const points::RefundableSpend& spend, std::optional<std::int64_t> amount) {
  const std::int64_t left = spend.amount - spend.refunded;
  if (left == 0) throw Error(Code::invalid_state, "the whole spend was given back already");
  const std::int64_t wanted = amount.value_or(left);
  if (wanted > left) throw points::exceeds_spend(spend.amount, spend.refunded);
  return wanted;
}

int expire(db::Tx& tx, const Keys& keys, int limit) {
  std::vector<Request> overdue;
  {
    auto rows = tx.query(select_overdue, tx.now() - open_for, limit);
    while (rows.next()) overdue.push_back(request_of(rows));
  }
  for (const Request& request : overdue) answer(tx, request, {.status = Status::expired}, keys);
  return int(overdue.size());
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(R"(
      DELETE FROM refund_requests
      WHERE id IN (SELECT id
                   FROM refund_requests
                   WHERE closed_at IS NOT NULL AND closed_at <= $1
                   ORDER BY closed_at
                   LIMIT $2))",
                    tx.now() - closed_kept_for, limit);
}

}  // namespace

Request ask_for_spend(db::Tx& tx, const accounts::User& user, const std::string& spend_id,
                      std::optional<std::int64_t> amount, const std::string& reason,
                      const Keys& keys) {
  tx.require_serializable();
  const auto spend = points::find_refundable(tx, spend_id);
  // What a guest has spent is asked for by the account that they were merged into.
  if (!spend || guests::account_of(tx, spend->user_id) != user.id)
    throw Error(Code::not_found, "you have no such spend");
  if (!apps::find(tx, spend->app_id))
    throw Error(Code::invalid_state, "the app was deleted, so nobody can give the points back");
  if (tx.now() - spend->at > points::refundable_for) throw points::refund_too_late();
  const Request made = add(tx, {.id = {},
                                .subject = Subject::spend,
                                .subject_id = spend->id,
                                .user_id = user.id,
                                .app_id = spend->app_id,
                                .amount = wanted_of(*spend, amount),
                                .reason = reason});
  tell_owner(tx, made, keys);
  return made;
}

Request ask_for_charge(db::Tx& tx, const accounts::User& user, const Charged& charged,
                       const std::string& reason) {
  return add(tx, {.id = {},
                  .subject = Subject::deployment,
                  .subject_id = charged.deployment_id,
                  .user_id = user.id,
                  .app_id = charged.app_id,
                  .amount = charged.amount,
                  .reason = reason});
}

void require_open(const Request& request) {
  if (request.status != Status::open)
    throw Error(Code::invalid_state,
                "the refund request is already " + std::string(to_string(request.status)));
}

Request get(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(select_request, id);
  if (!rows.next()) throw no_such_request();
  return request_of(rows);
}

Request get_of_app(db::Tx& tx, const std::string& app_id, const std::string& id) {
  const Request request = get(tx, id);
  if (request.app_id != app_id || request.subject != Subject::spend) throw no_such_request();
  return request;
}

Page<Request> list_of_user(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  return read_page(tx, requests_of_user, page, request_of, user_id);
}

Page<Request> list_of_app(db::Tx& tx, const std::string& app_id, std::optional<Status> status,
                          const PageRequest& page) {
  if (status)
    return read_page(tx, requests_of_app_in_status, page, request_of, app_id, to_string(*status));
  return read_page(tx, requests_of_app, page, request_of, app_id);
}

Page<Request> list_all(db::Tx& tx, std::optional<Status> status, const PageRequest& page) {
  if (status) return read_page(tx, requests_in_status, page, request_of, to_string(*status));
  return read_page(tx, all_requests, page, request_of);
}

std::int64_t count_open(db::Tx& tx, std::int64_t most) {
  return tx.number(R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM refund_requests WHERE status = 'open' LIMIT $1) counted)",
                   most);
}

Request withdraw(db::Tx& tx, const std::string& user_id, const std::string& id) {
  const Request request = get(tx, id);
  if (request.user_id != user_id) throw no_such_request();
  return close(tx, request, {.status = Status::withdrawn});
}

std::int64_t amount_of(const Request& request, const Answer& answer) {
  if (answer.amount && *answer.amount > request.amount)
    throw invalid_field("amount", "must be at most the " + std::to_string(request.amount) +
                                      " points that are asked for");
  return answer.amount.value_or(request.amount);
}

Request approve_spend(db::Tx& tx, const Request& request, const Answer& answer, const Keys& keys) {
  tx.require_serializable();
  require_open(request);
  points::refund(tx, {.spend_id = request.subject_id,
                      .amount = amount_of(request, answer),
                      .reason = answer.note.empty() ? request.reason : answer.note,
                      .app_id = answer.admin ? std::nullopt : std::optional(request.app_id),
                      .admin = answer.admin.value_or(""),
                      .asked_in_time = true});
  return approved(tx, request, answer, keys);
}

Request approved(db::Tx& tx, const Request& request, const Answer& given, const Keys& keys) {
  return answer(tx, request,
                {.status = Status::approved,
                 .note = note_of(given),
                 .refunded = amount_of(request, given),
                 .by = initiator_of(given)},
                keys);
}

Request reject(db::Tx& tx, const Request& request, const Answer& given, const Keys& keys) {
  return answer(tx, request,
                {.status = Status::rejected, .note = note_of(given), .by = initiator_of(given)},
                keys);
}

void answered_by_refund(db::Tx& tx, const GivenBack& given, const Keys& keys) {
  std::optional<Request> open;
  {
    auto rows = tx.query(select_open_of_subject, given.subject_id, to_string(given.subject));
    if (rows.next()) open = request_of(rows);
  }
  if (!open) return;
  answer(tx, *open, {.status = Status::approved, .refunded = given.amount, .by = given.by}, keys);
}

int erase_of_user(db::Tx& tx, const std::string& user_id, int limit) {
  return tx.execute(R"(
      DELETE FROM refund_requests
      WHERE id IN (SELECT id FROM refund_requests WHERE user_id = $1 LIMIT $2))",
                    user_id, limit);
}

int erase_of_app(db::Tx& tx, const std::string& app_id, int limit) {
  return tx.execute(R"(
      DELETE FROM refund_requests
      WHERE id IN (SELECT id FROM refund_requests WHERE app_id = $1 LIMIT $2))",
                    app_id, limit);
}

bool is_anything_due(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1
      FROM refund_requests
      WHERE status = 'open' AND inserted_at <= $1
      LIMIT 1)",
                   tx.now() - open_for) > 0 ||
         tx.number(R"(
      SELECT 1
      FROM refund_requests
      WHERE closed_at IS NOT NULL AND closed_at <= $1
      LIMIT 1)",
                   tx.now() - closed_kept_for) > 0;
}

int tidy(db::Tx& tx, const Keys& keys, int limit) {
  const int closed = expire(tx, keys, limit);
  return closed + (closed < limit ? remove_old(tx, limit - closed) : 0);
}

Loop loop(const Keys& keys) {
  return {.name = "refund requests",
          .interval = std::chrono::minutes(1),
          .lease = "refund_requests",
          .round =
              [&keys](Round& round) {
                round.repeat(is_anything_due,
                             [&](db::Tx& tx) { return tidy(tx, keys, tidied_at_once); });
                round.repeat(proposals::is_anything_due,
                             [](db::Tx& tx) { return proposals::tidy(tx, tidied_at_once); });
              },
          .failure = "old requests for refunds couldn't be closed"};
}

}  // namespace berth::refund_requests
