// The commands for the logins of the user's own account.
#include "cli/commands/account.h"
#include "cli/commands/commands.h"

namespace berth::cli {
namespace {

constexpr const char* sessions_path = "/api/auth/sessions";

struct SessionFlags {
  std::vector<std::string> ids;
  bool others = false;
};

void end_sessions(Run& run, const SessionFlags& flags) {
  if (flags.others == !flags.ids.empty())
    throw Failure(Exit::usage, "no sessions were named",
                  "Name their ids (`berth sessions list`), or pass --others.");
  std::vector<std::string> ids = flags.ids;
  if (flags.others) {
    const json all = run.api().all(sessions_path, "sessions", As::account);
    for (const json& session : all.at("sessions"))
      if (!session.at("current")) ids.push_back(session.at("id"));
  }
  for (const std::string& id : ids) {
    if (!is_uuid(id)) throw Failure(Exit::usage, id + " isn't the id of a session");
    run.api().call(
        {.method = "DELETE", .path = std::string(sessions_path) + "/" + id, .as = As::account});
  }
  run.out().done({{"ended", ids}}, ids.size() == 1
                                       ? "The session has ended."
                                       : std::to_string(ids.size()) + " sessions have ended.");
}

}  // namespace

void add_session_commands(CLI::App& root, Run& run) {
  CLI::App* sessions = add_group(root, "sessions", "The logins of your account");
  add_command(*sessions, "list", "List where you are logged in", "berth sessions list", [&run] {
    const json body = run.api().all(sessions_path, "sessions", As::account);
    run.out().list(body, body.at("sessions"),
                   {{"ID", "id"},
                    {"THIS ONE", "current"},
                    {"SINCE", "created_at"},
                    {"UNTIL", "expires_at"},
                    {"ADDRESS", "address"},
                    {"PROGRAM", "user_agent"}});
  });
  const auto flags = std::make_shared<SessionFlags>();
  CLI::App* end = add_command(*sessions, "end", "End sessions", "berth sessions end --others",
                              [&run, flags] { end_sessions(run, *flags); });
  end->add_option("SESSION", flags->ids, "Ids of the sessions");
  end->add_flag("--others", flags->others, "End all sessions but this one");
}

}  // namespace berth::cli
