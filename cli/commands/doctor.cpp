// The command doctor, which looks for what keeps the client from working.
#include <sys/stat.h>

#include "cli/commands/commands.h"
#include "cli/login.h"
#include "cli/wait.h"

namespace berth::cli {
namespace {

constexpr std::chrono::milliseconds longest_answer{10'000};

struct Check {
  std::string name;
  std::string result;  // ok, warning or failed
  std::string detail;
  std::string advice = {};
};

// Collects checks. A check that throws an exception has failed, and shows the exception's message.
class Examination {
 public:
  // Returns whether the next checks, which build on this one, make sense.
  bool look(const std::string& name, const std::function<Check()>& check) {
    try {
      checks_.push_back(check());
    } catch (const Failure& failure) {
      checks_.push_back({"", "failed", failure.what(), failure.advice});
    }
    checks_.back().name = name;
    return checks_.back().result != "failed";
  }

  bool is_well() const {
    return std::ranges::none_of(checks_, [](const Check& c) { return c.result == "failed"; });
  }
  const std::vector<Check>& checks() const { return checks_; }

 private:
  std::vector<Check> checks_;
};

Check ok(const std::string& detail) { return {"", "ok", detail}; }
Check warning(const std::string& detail, const std::string& advice) {
  return {"", "warning", detail, advice};
}

Check credentials_file(Run& run) {
  const auto file = run.store().file();
  struct stat info = {};
  if (::stat(file.c_str(), &info) != 0) return ok("there is none yet");
  run.store().load(run.settings().server);  // throws if it is damaged
  if ((info.st_mode & 077) != 0)
    return {"", "failed", file.string() + " can be read by others",
            "chmod 600 " + file.string() + ", then `berth apps rotate-secret`."};
  return ok(file.string());
}

Check server(Run& run) {
  const json health = run.api().call(
      {.path = "/health", .as = As::nobody, .time = longest_answer, .patient = false});
  const std::string text = run.settings().server + ", version " + cell(health, "version") +
                           ", Kubernetes " + cell(health, "kubernetes");
  if (health.at("status") != "ok" || health.at("kubernetes") == "unreachable")
    return warning(
        text + ", " + cell(health, "status"),
        "The server answers, but reports that a part of it doesn't work: tell its admins.");
  return ok(text);
}

Check account(Run& run) {
  const json user = run.api().get("/api/auth/me", As::account).at("user");
  if (!user.at("email_verified"))
    return warning(cell(user, "username") + ", whose email address isn't verified",
                   "`berth account resend-verification` sends the mail again.");
  return ok(cell(user, "username") + ", " + cell(user, "points") + " points");
}

Check app(Run& run) {
  run.api().login().access_token();
  const json seen = run.api().post("/api/oauth/token/verify",
                                   {{"token", run.api().login().access_token()}}, As::nobody);
  if (!seen.value("active", false))
    throw Failure(Exit::not_logged_in, "the token is " + cell(seen, "reason"),
                  "Log in again: `berth login`.");
  return ok(cell(seen, "scopes"));
}

Check room(Run& run) {
  const json body = run.api().get("/api/deploy/sandbox-status");
  const std::string text = cell(body, "deployments_used") + " of " + cell(body, "max_deployments") +
                           " deployments on the tier " + cell(body, "tier") + " are used";
  return ok(text + (body.at("eligible") ? "" : "; `berth tiers` lists others"));
}

void look_at_deployments(Run& run, Examination& examination) {
  json rows;
  const bool known = examination.look("deployments", [&] {
    rows = run.api().all("/api/deploy/apps", "deployments").at("deployments");
    return ok(std::to_string(rows.size()));
  });
  if (!known) return;
  for (const json& row : rows) {
    const std::string name = row.at("subdomain");
    const std::string reason = cell(row, "reason");
    if (reason == "-" && row.at("billing_status") != "suspended") continue;
    examination.look(name, [&] {
      return warning(
          cell(row, "status") + (reason == "-" ? "" : ", " + reason) + ", billing " +
              cell(row, "billing_status"),
          reason == "-"
              ? "The app's account needs more points."
              : advice_for(cell(row, row.value("cause", json()).is_null() ? "reason" : "cause"),
                           name));
    });
  }
}

Examination examine(Run& run) {
  Examination examination;
  examination.look("configuration", [&] {
    const fs::path& file = run.settings().places.config_file;
    if (file.empty()) return ok("defaults; there is no home directory");
    return ok(read_file(file) ? file.string() : "defaults; there is no " + file.string());
  });
  examination.look("credentials", [&] { return credentials_file(run); });
  if (!examination.look("server", [&] { return server(run); })) return examination;
  if (!run.settings().token && run.settings().client_id.empty())
    examination.look("account", [&] { return account(run); });
  if (!examination.look("app's token", [&] { return app(run); })) return examination;
  if (examination.look("room", [&] { return room(run); })) look_at_deployments(run, examination);
  return examination;
}

json as_json(const Examination& examination) {
  json checks = json::array();
  for (const Check& check : examination.checks())
    checks.push_back({{"name", check.name},
                      {"result", check.result},
                      {"detail", check.detail},
                      {"advice", check.advice}});
  return {{"ok", examination.is_well()}, {"checks", checks}};
}

void doctor(Run& run) {
  run.settings();  // a configuration that can't be read is an error of every command
  const Examination examination = examine(run);
  const json body = as_json(examination);
  run.out().print(body, [&] {
    std::string text = Output::table(
        body.at("checks"), {{"CHECK", "name"}, {"RESULT", "result"}, {"DETAIL", "detail"}});
    for (const Check& check : examination.checks())
      if (!check.advice.empty()) text += printable(check.name + ": " + check.advice) + "\n";
    return text;
  });
  if (!examination.is_well()) throw Failure(Exit::failed, "something is wrong");
}

}  // namespace

void add_doctor_command(CLI::App& root, Run& run) {
  add_command(root, "doctor",
              "Check configuration, server, login and deployments; fails if something is wrong",
              "berth doctor", [&run] { doctor(run); });
}

}  // namespace berth::cli
