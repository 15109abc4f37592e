// The audit log: one's own entries, those of an app, and an admin's view of all of them.
#include <chrono>
#include <iostream>
#include <thread>

#include "cli/commands/commands.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

const std::string admin_path = "/api/internal/audit";
// How long a collector waits for more entries.
constexpr std::chrono::seconds pause_of_follower{2};

struct AuditFlags {
  size_t limit = 50;
  std::string actor, user, app_id, action, target, network, token, from, until;
  std::string format;  // csv or jsonl: all entries in lines
  bool follow = false;
  bool check = false;
  std::int64_t after = 0;
};
using SharedAuditFlags = std::shared_ptr<AuditFlags>;

std::string query_of(const AuditFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query.emplace_back(name, value);
  };
  add("actor", flags.actor);
  add("user_id", flags.user);
  add("app_id", flags.app_id);
  add("action", flags.action);
  add("target", flags.target);
  add("network", flags.network);
  add("token_id", flags.token);
  add("from", flags.from);
  add("to", flags.until);
  add("format", flags.format);
  return query.empty() ? "" : "?" + encoded(query);
}

// Copies what the server sends to stdout. Returns its last line.
std::string copy_to_stdout(Run& run, const std::string& path, As as) {
  std::string last;  // the last whole line, and what follows it
  run.api().stream({.path = path,
                    .accept = "*/*",
                    .headers = {},
                    .sink =
                        [&](std::string_view part) {
                          std::cout << part;
                          last += part;
                          const size_t end = last.size() < 2 ? std::string::npos
                                                             : last.rfind('\n', last.size() - 2);
                          if (end != std::string::npos) last.erase(0, end + 1);
                          return bool(std::cout);
                        },
                    .has_end = true,
                    .as = as});
  std::cout.flush();
  return last;
}

// People are shown by their names where they have one.
json with_names(json entries) {
  for (json& entry : entries)
    if (entry.at("actor_name").is_string()) entry["actor"] = entry["actor_name"];
  return entries;
}

void list(Run& run, const AuditFlags& flags, const std::string& path, As as) {
  if (!flags.format.empty()) {
    copy_to_stdout(run, path + query_of(flags), as);
    return;
  }
  const json body = run.api().all(path + query_of(flags), "entries", as, flags.limit);
  run.out().list(body, with_names(body.at("entries")),
                 {{"WHEN", "inserted_at"},
                  {"WHO", "actor"},
                  {"WHAT", "action"},
                  {"TO", "target"},
                  {"FROM", "network"},
                  {"DETAILS", "details"}});
}

// Prints each entry as a line of JSON, in the order of their numbers, until it is stopped.
void follow(Run& run, std::int64_t after) {
  while (std::cout) {
    const std::string last =
        copy_to_stdout(run, admin_path + "/stream?after=" + std::to_string(after), As::admin);
    if (!last.empty()) after = json::parse(last).at("number").get<std::int64_t>();
    std::this_thread::sleep_for(pause_of_follower);
  }
}

// Fails if an entry was removed or changed.
void check(Run& run, std::int64_t after) {
  json sum = {{"violations", json::array()}, {"erased", 0}, {"first", 0}, {"last", 0}};
  json part;
  do {
    part = run.api().get(admin_path + "/check?after=" + std::to_string(after), As::admin);
    for (const json& violation : part.at("violations")) sum["violations"].push_back(violation);
    if (sum["first"] == 0) sum["first"] = part.at("first");
    sum["erased"] = sum["erased"].get<std::int64_t>() + part.at("erased").get<std::int64_t>();
    // 0 if the part before it ended at the end of the chain.
    if (part.at("last") != 0) sum["last"] = part.at("last");
    sum["head"] = part.at("head");
    after = part.at("last").get<std::int64_t>();
  } while (!part.at("is_end").get<bool>());
  run.out().print(sum, [&] {
    std::string text;
    for (const json& violation : sum.at("violations"))
      text += printable(violation.get<std::string>()) + "\n";
    if (text.empty())
      text = "Nothing was removed or changed. The chain ends at " + cell(sum.at("head"), "number") +
             " with " + cell(sum.at("head"), "chain") + "\n";
    return text;
  });
  if (!sum.at("violations").empty())
    throw Failure(Exit::failed, "entries of the audit log were removed or changed");
}

void add_filters(CLI::App& command, AuditFlags& flags) {
  command.add_option("--limit", flags.limit, "Maximum number of entries")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
  command.add_option("--action", flags.action, "Only this action, such as login");
  command.add_option("--target", flags.target, "Only what was done to this id");
  command.add_option("--from", flags.from, "Only entries at or after this time or UTC day");
  command.add_option("--to", flags.until, "Only entries before this time, or until this UTC day");
  command
      .add_option("--format", flags.format, "Print all entries that match, in lines of this form")
      ->check(CLI::IsMember({"csv", "jsonl"}));
}

void add_network(CLI::App& command, AuditFlags& flags) {
  command.add_option("--network", flags.network, "Only what came from the network of this address");
  command.add_option("--token", flags.token, "Only what was done with the token of this id");
}

}  // namespace

void add_audit_command(CLI::App& root, Run& run) {
  const SharedAuditFlags flags = std::make_shared<AuditFlags>();
  CLI::App* own =
      add_command(root, "audit", "List what you did, with which token and from where, newest first",
                  "berth audit --action login --limit 10",
                  [&run, flags] { list(run, *flags, "/api/auth/audit", As::account); });
  add_filters(*own, *flags);
  add_network(*own, *flags);
}

void add_app_audit_command(CLI::App& apps, Run& run) {
  const SharedAuditFlags flags = std::make_shared<AuditFlags>();
  CLI::App* of_app = add_command(
      apps, "audit", "List what was done to the current app, and by whom, newest first",
      "berth apps audit --from 2026-01-01 --format csv > january.csv", [&run, flags] {
        list(run, *flags, "/api/oauth/my-apps/" + app_id(run, "") + "/audit", As::account);
      });
  add_filters(*of_app, *flags);
}

void add_admin_audit_command(CLI::App& admin, Run& run) {
  const SharedAuditFlags flags = std::make_shared<AuditFlags>();
  CLI::App* all = add_command(admin, "audit", "List who did what, newest first",
                              "berth admin audit --limit 10", [&run, flags] {
                                if (flags->check) return check(run, flags->after);
                                if (flags->follow) return follow(run, flags->after);
                                list(run, *flags, admin_path, As::admin);
                              });
  add_filters(*all, *flags);
  add_network(*all, *flags);
  all->add_option("--actor", flags->actor, "Only what this actor did, as the list names them");
  all->add_option("--user", flags->user, "Only what the person with this id did");
  all->add_option("--about-app", flags->app_id, "Only what is about the app with this id");
  all->add_flag("--check", flags->check, "Say whether entries were removed or changed");
  all->add_flag("--follow", flags->follow,
                "Print each entry as a line of JSON in the order of their numbers, and go on");
  all->add_option("--after", flags->after,
                  "With --check or --follow: begin behind the entry with this number")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace berth::cli
