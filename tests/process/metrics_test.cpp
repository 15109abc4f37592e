// What /metrics says of the process, the disk, the database and what waits.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "tests/process/event_client.h"
#include "tests/process/raw.h"

using namespace berth::process;
using Catch::Matchers::Contains;

namespace {

// Each series with its value.
std::map<std::string, double> metrics_of(const Berthd& berthd) {
  const Raw connection(berthd.metrics_port());
  connection.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::istringstream in(connection.receive_all());
  std::map<std::string, double> series;
  for (std::string line; std::getline(in, line);) {
    const size_t blank = line.rfind(' ');
    if (line.starts_with('#') || blank == std::string::npos) continue;
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + blank + 1, &end);
    if (end != line.c_str() + blank + 1) series[line.substr(0, blank)] = value;
  }
  return series;
}

void advance(const Berthd& berthd, Client& client, int seconds) {
  expect(200, client.post("/api/internal/clock", {{"advance_seconds", seconds}}, admin(berthd)));
}

}  // namespace

TEST_CASE("the metrics tell of the process, the build, the disk and the database") {
  const Berthd berthd;
  const auto series = metrics_of(berthd);
  const auto value = [&](const std::string& name) {
    INFO(name);
    REQUIRE(series.contains(name));
    return series.at(name);
  };
  CHECK(value("process_cpu_seconds_total") > 0);
  CHECK(value("process_resident_memory_bytes") > 1e6);
  CHECK(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
  CHECK(value("process_threads") > 1);
  CHECK(value("process_open_fds") > 3);
  CHECK(value("process_max_fds") > value("process_open_fds"));
  const auto now = double(std::time(nullptr));
  CHECK(value("process_start_time_seconds") > now - 3600);
  CHECK(value("process_start_time_seconds") < now + 60);
  CHECK(value("berth_database_bytes") >= 4096);
  CHECK(value("berth_database_wal_bytes") >= 0);
  CHECK(value("berth_disk_bytes") >= value("berth_disk_free_bytes"));
  CHECK(value("berth_disk_free_bytes") > 0);
  CHECK(value("berth_database_failed_commits_total") == 0);
  CHECK(value("http_open_streams") == 0);
  CHECK(value("berth_ready") == 1);
  CHECK(value("berth_certificates_refused") == 0);
  CHECK(value("berth_ledger_violations") == 0);
  CHECK(value("berth_holds_open") == 0);
  CHECK(value("berth_points_supply") >= value("berth_treasury_points"));
  CHECK(value("berth_webhook_waiting") == 0);
  CHECK(value("berth_webhook_overdue_seconds") == 0);
  for (const char* outcome : {"renewed", "warned", "suspended", "reactivated", "failed"})
    CHECK(value("berth_billing_outcomes_total{outcome=\"" + std::string(outcome) + "\"}") == 0);

  for (const char* outcome : {"settled", "warned", "suspended", "stopped_by_budget",
                              "told_of_budget", "released", "failed"})
    CHECK(value("berth_meter_outcomes_total{outcome=\"" + std::string(outcome) + "\"}") == 0);
  for (const char* outcome : {"opened", "closed", "vanished", "missed", "clock_skew"})
    CHECK(value("berth_meter_runs_total{outcome=\"" + std::string(outcome) + "\"}") == 0);
  CHECK(value("berth_meter_runs_open") == 0);
  for (const char* outcome : {"started", "skipped", "missed", "failed"})
    CHECK(value("berth_cron_minutes_total{outcome=\"" + std::string(outcome) + "\"}") == 0);
  CHECK(value("berth_runs{status=\"pending\"}") == 0);
  CHECK(value("berth_runs{status=\"running\"}") == 0);
  CHECK(value("berth_meter_watch_age_seconds") == 0);
  CHECK(value("berth_meter_overdue_seconds") == 0);
  CHECK(value("berth_meter_held_points") == 0);
  CHECK(value("berth_meter_unpaid_seconds_total") == 0);

  const Ended version = run_to_end({"--version"});
  const std::string commit = version.output.substr(version.output.find("(commit ") + 8);
  const auto build = series.lower_bound("berth_build_info");
  REQUIRE(build != series.end());
  CHECK(build->second == 1);
  CHECK_THAT(build->first, Contains("commit=\"" + commit.substr(0, commit.find(')')) + "\"") &&
                               Contains("version=\""));
}

TEST_CASE("each loop runs rounds, which the metrics count, and none fails") {
  const Berthd berthd;
  // Those of a process that has its database for itself, simulates its cluster and sends no mail.
  const std::set<std::string> loops = {
      "ads",        "autoscaler",   "billing",         "campaign index",
      "expiry",     "last uses",    "ledger",          "metering",
      "money",      "presence",     "refund requests", "resets",
      "usage",      "security log", "webhooks",        "write counts",
      "crons",      "pushes",       "token warnings",  "logouts",
      "openid keys"};
  const auto with = [](const std::map<std::string, double>& series, const std::string& outcome) {
    const std::string begin = "berth_loop_rounds_total{loop=\"";
    const std::string end = "\",outcome=\"" + outcome + "\"}";
    std::set<std::string> names;
    for (const auto& [name, value] : series)
      if (name.starts_with(begin) && name.ends_with(end) && value > 0)
        names.insert(name.substr(begin.size(), name.size() - begin.size() - end.size()));
    return names;
  };
  CHECK(eventually([&] { return with(metrics_of(berthd), "done") == loops; }));
  CHECK(with(metrics_of(berthd), "failed").empty());
}

TEST_CASE("the metrics count logins that fail, from 0 on") {
  const Berthd berthd;
  const std::string unknown =
      "security_events_total{kind=\"login_failed\",reason=\"unknown_account\"}";
  CHECK(metrics_of(berthd).at(unknown) == 0);
  Client(berthd).post("/api/auth/login",
                      {{"email", "nobody@example.org"}, {"password", "correct horse battery"}});
  CHECK(metrics_of(berthd).at(unknown) == 1);
}

TEST_CASE("the metrics count streams while they are open") {
  Berthd berthd;
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  {
    const EventClient client(berthd, "/api/deploy/apps/" + id + "/events", ada.tokens.access_token);
    CHECK(eventually([&] { return metrics_of(berthd).at("http_open_streams") == 1; }));
  }
  CHECK(eventually([&] { return metrics_of(berthd).at("http_open_streams") == 0; }));
}

TEST_CASE("the metrics tell the age of the newest backup, over a restart") {
  constexpr int day = 86'400;
  constexpr int hour = 3'600;
  const TempDir dir;
  const std::string passphrase = dir.write("passphrase", "correct horse battery staple").string();
  Berthd berthd;
  Client client(berthd);
  const auto age = [&] { return metrics_of(berthd).at("berth_backup_age_seconds"); };
  CHECK(age() < hour);
  advance(berthd, client, 2 * day);
  CHECK(age() >= 2 * day);
  const Ended backup =
      run_to_end({"backup", (dir.path() / "berth.backup").string(), "--passphrase-file", passphrase,
                  "--data-dir", berthd.data_dir().string()});
  INFO(backup.output);
  REQUIRE(backup.code == 0);
  CHECK(eventually([&] { return age() < hour; }));
  advance(berthd, client, day);
  CHECK(berthd.terminate() == 0);
  berthd.start();
  CHECK(age() >= day);
  CHECK(age() < day + hour);
}

TEST_CASE("development's clock stays ahead over a restart, and a crash") {
  constexpr double week = 7 * 86'400;
  Berthd berthd;
  const auto ahead = [&](Client client) -> double {
    return expect(200, client.get("/api/internal/clock", admin(berthd))).body.at("ahead_seconds");
  };
  {
    Client client(berthd);
    advance(berthd, client, 3 * 86'400);
    advance(berthd, client, 4 * 86'400);
  }
  CHECK(ahead(Client(berthd)) == week);
  CHECK(berthd.terminate() == 0);
  berthd.start();
  CHECK(ahead(Client(berthd)) == week);
  berthd.kill();
  berthd.start();
  CHECK(ahead(Client(berthd)) == week);
  Client client(berthd);
  advance(berthd, client, 1);
  CHECK(ahead(Client(berthd)) == week + 1);
}
