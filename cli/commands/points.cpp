// The commands for the points of the user's own account, and for what an app gives back.
#include "cli/commands/commands.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

struct PointsFlags {
  std::string to;
  std::string points;
  std::string description;
  std::string kind;
  std::string direction;
  std::string from;
  std::string until;
  std::string spend;
  std::string reason;
  bool yes = false;
  size_t limit = 50;
};
using SharedPointsFlags = std::shared_ptr<PointsFlags>;

void history(Run& run, const PointsFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  for (const auto& [name, value] :
       {std::pair("kind", flags.kind), std::pair("direction", flags.direction),
        std::pair("from", flags.from), std::pair("to", flags.until)})
    if (!value.empty()) query.emplace_back(name, value);
  const json body =
      run.api().all("/api/points/history" + (query.empty() ? "" : "?" + encoded(query)), "entries",
                    As::account, flags.limit);
  run.out().list(body, body.at("entries"),
                 {{"WHEN", "inserted_at"},
                  {"POINTS", "amount"},
                  {"KIND", "kind"},
                  {"WITH", "counterparty.kind"},
                  {"NAME", "counterparty.name"},
                  {"DESCRIPTION", "description"},
                  {"ID", "id"}});
}

void transfer(Run& run, const PointsFlags& flags) {
  json body = {{"amount", std::stoll(flags.points)},
               {is_uuid(flags.to) ? "to_user_id" : "to_username", flags.to}};
  if (!flags.description.empty()) body["description"] = flags.description;
  const json answer = run.api().post("/api/points/transfer", body, As::account);
  run.out().done(answer, flags.to + " got " + flags.points + " points; you have " +
                             cell(answer, "points") + " left.");
}

void top_up(Run& run, const PointsFlags& flags) {
  json body = {{"app_id", app_id(run, flags.to)}, {"amount", std::stoll(flags.points)}};
  if (!flags.description.empty()) body["description"] = flags.description;
  const json answer = run.api().post("/api/points/top-up", body, As::account);
  run.out().done(answer, "The app has " + cell(answer, "app_balance") + " points now; you have " +
                             cell(answer, "points") + " left.");
}

void app_money(Run& run) {
  const json body = run.api().get("/api/operator/money");
  run.out().object(body, body,
                   {{"Balance", "balance"},
                    {"Held", "held"},
                    {"Earned in 30 days", "earned"},
                    {"Spent in 30 days", "spent"},
                    {"Days left", "forecast.days_left"},
                    {"Points of the next charge", "next_charge.amount"},
                    {"Charged at", "next_charge.at"},
                    {"First charge that can't be paid", "first_unpaid_charge.at"}});
}

void app_history(Run& run, const PointsFlags& flags) {
  const json body = run.api().all("/api/operator/money/history", "entries", As::app, flags.limit);
  run.out().list(body, body.at("entries"),
                 {{"WHEN", "inserted_at"},
                  {"POINTS", "amount"},
                  {"KIND", "kind"},
                  {"WITH", "counterparty.kind"},
                  {"DESCRIPTION", "description"},
                  {"ID", "id"}});
}

void refund(Run& run, const PointsFlags& flags) {
  confirm("Give back " + flags.points + " points of the spend " + flags.spend + "?", flags.yes);
  json body = {{"spend_id", flags.spend}, {"amount", std::stoll(flags.points)}};
  if (!flags.reason.empty()) body["reason"] = flags.reason;
  const json answer = run.api().post("/api/external/points/refunds", body);
  run.out().done(answer, flags.points + " points were given back; " + cell(answer, "refundable") +
                             " of the spend are left.");
}

}  // namespace

void add_points_commands(CLI::App& root, Run& run) {
  CLI::App* points = add_group(root, "points", "The points of your account");
  add_command(*points, "balance", "Show how many points you have", "berth points balance", [&run] {
    const json body = run.api().get("/api/points/balance", As::account);
    run.out().done(body, cell(body, "points") + " points");
  });

  const SharedPointsFlags listed = std::make_shared<PointsFlags>();
  CLI::App* entries = add_command(*points, "history",
                                  "List what was added to and taken from your points, newest first",
                                  "berth points history --direction out --from 2026-01-01",
                                  [&run, listed] { history(run, *listed); });
  entries->add_option("--kind", listed->kind, "Only entries of this kind, such as transfer");
  entries->add_option("--direction", listed->direction, "Only what came in or went out")
      ->check(CLI::IsMember({"in", "out"}));
  entries->add_option("--from", listed->from, "Only since this time, in ISO 8601");
  entries->add_option("--to", listed->until, "Only until this time, in ISO 8601");
  entries->add_option("--limit", listed->limit, "Maximum number of entries")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));

  add_points_statement(*points, run);

  const SharedPointsFlags given = std::make_shared<PointsFlags>();
  CLI::App* giving = add_command(*points, "transfer", "Give points to another user",
                                 "berth points transfer bob 20 --description \"For the map\"",
                                 [&run, given] { transfer(run, *given); });
  giving->add_option("USER", given->to, "Name or id of the user who gets them")->required();
  giving->add_option("POINTS", given->points, "Number of points")->required()->check(check_points);
  giving->add_option("--description", given->description, "Description, which both users see");

  const SharedPointsFlags up = std::make_shared<PointsFlags>();
  CLI::App* topping = add_command(*points, "top-up", "Move points to one of your apps",
                                  "berth points top-up 1000", [&run, up] { top_up(run, *up); });
  topping->add_option("POINTS", up->points, "Number of points")->required()->check(check_points);
  topping->add_option("--for", up->to, "Name or id of the app; by default the current one");
  topping->add_option("--description", up->description, "Description, for both histories");
  add_command(*points, "app", "Show the current app's points, and how long they last",
              "berth points app", [&run] { app_money(run); });
  const SharedPointsFlags moved = std::make_shared<PointsFlags>();
  add_command(*points, "app-history", "List the movements of the current app's points",
              "berth points app-history", [&run, moved] { app_history(run, *moved); })
      ->add_option("--limit", moved->limit, "Maximum number of entries")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));

  const SharedPointsFlags back = std::make_shared<PointsFlags>();
  CLI::App* refunding =
      add_command(*points, "refund", "Give points back that a user has spent in your app",
                  "berth points refund 01936f5e-7c1a-7000-8000-000000000007 5 --reason \"The hat "
                  "was sold out\"",
                  [&run, back] { refund(run, *back); });
  refunding->add_option("SPEND", back->spend, "Id of the spend")->required();
  refunding->add_option("POINTS", back->points, "Number of points")
      ->required()
      ->check(check_points);
  refunding->add_option("--reason", back->reason, "Reason, which the user sees");
  refunding->add_flag("--yes,-y", back->yes, "Don't ask");
}

}  // namespace berth::cli
