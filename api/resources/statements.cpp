// Statements: all movements of an account in some UTC days, as JSON, CSV or JSON lines.
#include <memory>

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/gate/event_stream.h"
#include "api/resources/points.h"
#include "api/resources/shared.h"
#include "api/resources/text_forms.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/points/statement.h"

namespace berth::api {
namespace {

// How many lines are read, kept in memory and sent at once.
constexpr int lines_of_step = 500;

json encode_account(const ledger::Account& account) {
  return {{"kind", account.kind}, {"id", text_or_null(account.owner)}};
}

// The name of a line's other side. An app's owner may give others the statement of the app, and
// what its users are called is for apps to which they have given profile:read.
std::optional<std::string> name_in(const points::Line& line, const ledger::Account& account) {
  const points::Entry& entry = line.entry;
  const bool is_hidden = account.kind == "app" && entry.counterparty.kind == "user";
  return is_hidden ? std::nullopt : entry.counterparty_name;
}

json encode_line(const points::Line& line, const ledger::Account& account) {
  const points::Entry& entry = line.entry;
  return {{"id", entry.transaction_id},
          {"inserted_at", to_iso8601(entry.at)},
          {"kind", entry.kind},
          {"amount", entry.amount},
          {"balance", line.balance},
          {"description", entry.description},
          {"counterparty",
           {{"kind", entry.counterparty.kind},
            {"id", text_or_null(entry.counterparty.owner)},
            {"name", or_null(name_in(line, account))}}}};
}

json opening_of(const points::Statement& statement) {
  return {{"account", encode_account(statement.account())},
          {"from", utc_date(statement.period().first)},
          {"to", utc_date(statement.period().last)},
          {"opening_balance", statement.opening_balance()},
          {"is_final", statement.is_final()}};
}

json closing_of(const points::Statement& statement) {
  return {{"count", statement.lines()},
          {"credited", statement.credited()},
          {"debited", statement.debited()},
          {"closing_balance", statement.balance()}};
}

constexpr std::string_view csv_head =
    "id,inserted_at,kind,amount,balance,counterparty_kind,counterparty_id,counterparty_name,"
    "description\r\n";

// The first and the last record have the balances before and after, so that a file that was cut off
// is noticed.
std::string csv_balance(const char* kind, std::int64_t day, std::int64_t balance) {
  return "," + utc_date(day) + "," + kind + ",," + std::to_string(balance) + ",,,,\r\n";
}

std::string csv_line(const points::Line& line, const ledger::Account& account) {
  const points::Entry& entry = line.entry;
  return entry.transaction_id + "," + to_iso8601(entry.at) + "," + entry.kind + "," +
         std::to_string(entry.amount) + "," + std::to_string(line.balance) + "," +
         entry.counterparty.kind + "," + entry.counterparty.owner + "," +
         csv_text(name_in(line, account).value_or("")) + "," + csv_text(entry.description) + "\r\n";
}

std::string text_before(const points::Statement& statement, TextForm format) {
  if (format == TextForm::csv)
    return std::string(csv_head) +
           csv_balance("opening_balance", statement.period().first, statement.opening_balance());
  json opening = opening_of(statement);
  if (format == TextForm::jsonl) {
    opening["type"] = "opening";
    return dump(opening) + "\n";
  }
  std::string text = dump(opening);
  text.back() = ',';  // in place of the brace; the entries and what comes after them follow
  return text + "\"entries\":[";
}

std::string text_of(const points::Line& line, const ledger::Account& account, TextForm format,
                    bool is_first) {
  if (format == TextForm::csv) return csv_line(line, account);
  json object = encode_line(line, account);
  if (format == TextForm::object) return (is_first ? "" : ",") + dump(object);
  object["type"] = "entry";
  return dump(object) + "\n";
}

std::string text_after(const points::Statement& statement, TextForm format) {
  if (format == TextForm::csv)
    return csv_balance("closing_balance", statement.period().last, statement.balance());
  json closing = closing_of(statement);
  if (format == TextForm::object) return "]," + dump(closing).substr(1);
  closing["type"] = "closing";
  return dump(closing) + "\n";
}

// Sends the statement as fast as the caller takes it. The caller's token is looked at again and
// again; once it has ended, the answer is cut off.
class StatementStream {
 public:
  StatementStream(const Call& call, const Services& services, points::Statement statement,
                  TextForm format)
      : services_(services),
        statement_(std::move(statement)),
        format_(format),
        bearer_(call, services),
        permit_(services.memory.events->admit_export(bearer_.holder())) {}

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::break_off;
    std::string text;
    if (!has_begun_) text = text_before(statement_, format_);
    has_begun_ = true;
    bool is_first = statement_.lines() == 0;
    const auto lines =
        services_.db.read([this](db::Tx& tx) { return statement_.next(tx, lines_of_step); });
    for (const points::Line& line : lines) {
      text += text_of(line, statement_.account(), format_, is_first);
      is_first = false;
    }
    if (lines.empty()) text += text_after(statement_, format_);
    sink(text);
    return lines.empty() ? Next::end : Next::more;
  }

 private:
  const Services& services_;
  points::Statement statement_;
  const TextForm format_;
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  bool has_begun_ = false;
};

Reply statement_of(db::Tx& tx, const Call& call, const Services& services,
                   const ledger::Account& account) {
  const TextForm format = text_form(call);
  const DayWindow window = day_window(call, tx.now());
  points::Statement statement(tx, account, {.first = window.first, .last = window.last});
  const auto stream =
      std::make_shared<StatementStream>(call, services, std::move(statement), format);
  const std::string name = "statement-" + utc_date(window.first) + "-" + utc_date(window.last) +
                           "." + std::string(to_string(format));
  return {.stream = [stream](const Sink& sink) { return stream->step(sink); },
          .content_type = content_type_of(format),
          .headers = {{"Content-Disposition", "attachment; filename=\"" + name + "\""}}};
}

Reply own_statement(db::Tx& tx, const Call& call, const Services& services) {
  return statement_of(tx, call, services, ledger::user_account(user_of(call)));
}

Reply app_statement(db::Tx& tx, const Call& call, const Services& services) {
  check_may_see_figures(tx, call);
  return statement_of(tx, call, services, ledger::app_account(call.caller->app_id));
}

constexpr Param statement_query[] = {
    {.name = "from",
     .description = "The first day, in UTC. The default is 29 days before `to`.",
     .example = "2026-01-01",
     .kind = Kind::time},
    {.name = "to",
     .description = "The last day, in UTC. The default is today.",
     .example = "2026-01-31",
     .kind = Kind::time},
    {.name = "format",
     .description = "json, csv, or jsonl for a line of JSON for each movement. In CSV, a text that "
                    "begins like a formula gets an apostrophe before it.",
     .example = "json",
     .limits = "{\"enum\": [\"json\", \"csv\", \"jsonl\"]}"}};

constexpr Answer statement_answer = {
    .status = 200, .schema = "Statement", .or_texts = {"text/csv", "application/x-ndjson"}};

constexpr Route rows[] = {
    {.request = "GET /api/points/statement",
     .name = "pointsStatement",
     .tag = "Points",
     .summary = "Return the statement of the caller's points",
     .text =
         "Returns all movements of the caller's points on some UTC days, oldest first, with the "
         "balance after each. The answer is sent while it is read, however many years it has; "
         "it is complete if it has the closing balance.",
     .guards = {person(), stream_openings},
     .query = statement_query,
     .answer = statement_answer,
     .errors = {Code::validation_failed},
     .served_by = {"berth points statement", "/console/points"},
     .run = ReadHandler{own_statement}},
    {.request = "GET /api/operator/statement",
     .name = "operatorStatement",
     .tag = "Points",
     .summary = "Return the statement of the app's points",
     .text = "Returns all movements of the app's points on some UTC days, oldest first, with the "
             "balance after each, without the names of users. Only its owner's token, or one with "
             "`app:balance:read`, gets it.",
     .guards = {to_viewers(oauth_token({})), stream_openings},
     .query = statement_query,
     .answer = statement_answer,
     .errors = {Code::insufficient_scope, Code::app_not_found, Code::validation_failed},
     .served_by = {"berth apps statement", "/console/apps"},
     .run = ReadHandler{app_statement}},
};

}  // namespace

std::span<const Route> statements_routes() { return rows; }

}  // namespace berth::api
