// The commands for the points of the user's own account.
#include "cli/commands/commands.h"

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
                  {"DESCRIPTION", "description"}});
}

void transfer(Run& run, const PointsFlags& flags) {
  json body = {{"amount", std::stoll(flags.points)},
               {is_uuid(flags.to) ? "to_user_id" : "to_username", flags.to}};
  if (!flags.description.empty()) body["description"] = flags.description;
  const json answer = run.api().post("/api/points/transfer", body, As::account);
  run.out().done(answer, flags.to + " got " + flags.points + " points; you have " +
                             cell(answer, "points") + " left.");
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

  const SharedPointsFlags given = std::make_shared<PointsFlags>();
  CLI::App* giving = add_command(*points, "transfer", "Give points to another user",
                                 "berth points transfer bob 20 --description \"For the map\"",
                                 [&run, given] { transfer(run, *given); });
  giving->add_option("USER", given->to, "Name or id of the user who gets them")->required();
  giving->add_option("POINTS", given->points, "Number of points")->required()->check(check_points);
  giving->add_option("--description", given->description, "Description, which both users see");
}

}  // namespace berth::cli
