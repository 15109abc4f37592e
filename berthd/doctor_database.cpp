// `berthd doctor --database`.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "berthd/doctor.h"
#include "berthd/move/marks.h"
#include "controller/base/text.h"
#include "controller/db/postgres/connection.h"
#include "controller/db/postgres/migrate.h"

namespace berth::doctor {
namespace {

using db::postgres::Connection;

constexpr int oldest_server = 15;
// The most connections that one berthd process opens: 26 in its pools, one that checks the server's
// state, one that listens for notices, and one that has the server's log written to its disk.
constexpr int connections_of_berthd = 29;
constexpr std::chrono::milliseconds most_clock_skew{1'000};
// A table has more dead rows than autovacuum should leave if they are this many and outnumber half
// of the living.
constexpr std::int64_t many_dead_rows = 10'000;

Finding fine(const std::string& detail) { return {"", Result::ok, detail}; }
Finding failed(const std::string& detail, const std::string& advice) {
  return {"", Result::failed, detail, advice};
}
Finding warning(const std::string& detail, const std::string& advice) {
  return {"", Result::warning, detail, advice};
}

class DatabaseExamination {
 public:
  DatabaseExamination(const db::postgres::Server& server, Connection& connection)
      : server_(server), connection_(connection) {}

  std::vector<Finding> run() {
    check("version", [&] { return version(); });
    check("kind of server", [&] { return kind(); });
    check("schema", [&] { return schema(); });
    check("rights of the role", [&] { return rights(); });
    check("isolation", [&] { return isolation(); });
    check("commits", [&] { return commits(); });
    check("standbys", [&] { return standbys(); });
    check("encoding", [&] { return encoding(); });
    check("collation", [&] { return collation(); });
    check("connections", [&] { return connections(); });
    check("time limits", [&] { return limits(); });
    check("autovacuum", [&] { return autovacuum(); });
    check("checksums", [&] { return checksums(); });
    check("TLS", [&] { return tls(); });
    check("clock", [&] { return clock(); });
    return std::move(findings_);
  }

 private:
  template <typename Check>
  void check(const char* name, Check&& make) {
    Finding finding;
    try {
      finding = make();
    } catch (const std::exception& failure) {
      finding = {"", Result::unknown, failure.what(), ""};
    }
    finding.name = name;
    findings_.push_back(std::move(finding));
  }
  std::string ask(const std::string& sql) { return connection_.text(sql); }
  std::int64_t number(const std::string& sql) {
    return parse_number<std::int64_t>(ask(sql)).value_or(0);
  }
  bool is(const std::string& sql) { return ask(sql) == "t"; }

  Finding version() {
    const std::string name = ask("SHOW server_version");
    if (number("SHOW server_version_num") / 10'000 < oldest_server)
      return failed("PostgreSQL " + name,
                    "berth needs " + std::to_string(oldest_server) + " or newer.");
    return fine("PostgreSQL " + name);
  }

  Finding kind() {
    if (is("SELECT pg_is_in_recovery()"))
      return failed("a standby", "Let the address name the primary, or all servers.");
    if (ask("SHOW transaction_read_only") == "on")
      return failed("takes no writes", "Set default_transaction_read_only to off.");
    return fine("a primary that takes writes");
  }

  Finding schema() {
    if (!db::postgres::has_schema(connection_)) {
      const std::string table =
          ask("SELECT min(tablename) FROM pg_tables WHERE schemaname = current_schema()");
      if (!table.empty())
        return failed("somebody else's: it has the table " + table,
                      "Create a database of berth's own.");
      return fine("empty; berthd makes its tables when it is started");
    }
    connection_.run("BEGIN READ ONLY");
    Finding finding = fine("");
    try {
      db::Tx tx(connection_, Clock().now());
      if (const auto mark = move::find_mark(tx))
        finding = failed("was moved to " + mark->place, "Use the database there.");
      else
        finding.detail =
            std::to_string(db::postgres::check_migrations(connection_, tx.now())) + " migrations";
    } catch (const db::postgres::LacksMigrations& older) {
      finding = warning(older.what(), "berthd upgrades it when it is started.");
    } catch (const db::SchemaTooOld& older) {
      finding = failed(older.what(), "Use the berthd of that commit, or another database.");
    } catch (const std::runtime_error& failure) {
      finding = failed(failure.what(), "Install the berthd that wrote it, or a newer one.");
    }
    connection_.run("ROLLBACK");
    return finding;
  }

  Finding rights() {
    const std::string role = ask("SELECT current_user");
    if (ask("SELECT current_schema()").empty())
      return failed("there is no schema in the search_path of " + role,
                    "Run CREATE SCHEMA public, or set the role's search_path.");
    if (!is("SELECT has_schema_privilege(current_schema(), 'CREATE')"))
      return failed(role + " may not create tables",
                    "Make the role the database's owner: ALTER DATABASE … OWNER TO " + role + ".");
    const std::string other =
        ask("SELECT min(tablename) FROM pg_tables WHERE schemaname = current_schema() "
            "AND NOT pg_has_role(current_user, tableowner, 'USAGE')");
    if (!other.empty())
      return failed("the table " + other + " belongs to another role",
                    "Run REASSIGN OWNED BY its owner TO " + role + " in this database.");
    if (ask("SHOW is_superuser") == "on")
      return warning(role + " is a superuser", "Give berth a role that owns its database alone.");
    return fine(role + " may do what berthd does");
  }

  Finding isolation() {
    connection_.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
    const std::string level = ask("SHOW transaction_isolation");
    connection_.run("ROLLBACK");
    if (level != "serializable")
      return failed("the server gives " + level + " in place of SERIALIZABLE",
                    "Something between berthd and the server changes its statements.");
    constexpr int usual_locks = 64;
    const std::int64_t locks = number("SHOW max_pred_locks_per_transaction");
    if (locks < usual_locks)
      return warning("max_pred_locks_per_transaction is " + std::to_string(locks),
                     "Set it to 64 or more; with few, more writes collide.");
    return fine("SERIALIZABLE");
  }

  Finding commits() {
    const std::string commit = ask("SHOW synchronous_commit");
    if (commit == "off")
      return failed("synchronous_commit is off",
                    "Set it to on for the role: what was answered could be lost.");
    if (ask("SHOW fsync") == "off")
      return warning("fsync is off", "Set it to on: a crash could destroy the database.");
    if (ask("SHOW full_page_writes") == "off")
      return warning("full_page_writes is off",
                     "Set it to on, unless the disk writes whole pages.");
    return fine("synchronous_commit is " + commit);
  }

  Finding standbys() {
    const std::string names = ask("SHOW synchronous_standby_names");
    const std::string commit = ask("SHOW synchronous_commit");
    if (names.empty())
      return warning(
          "synchronous_standby_names is empty",
          "What was answered is lost with the primary's disk. Add a synchronous standby; "
          "with Patroni, set synchronous_mode and synchronous_mode_strict.");
    if (commit == "local" || commit == "remote_write")
      return warning("synchronous_commit is " + commit,
                     "Set it to on, so that a commit waits until a standby has it on its disk.");
    if (number("SELECT count(*) FROM pg_stat_replication") == 0)
      return warning("synchronous, but no standby is connected, or the role can't see it",
                     "Without one, writes wait; look at pg_stat_replication.");
    return fine("synchronous: " + names);
  }

  Finding encoding() {
    const std::string encoding = ask("SHOW server_encoding");
    if (encoding != "UTF8")
      return failed(encoding, "Create the database with ENCODING 'UTF8' TEMPLATE template0.");
    return fine(encoding);
  }

  // berth's columns have the collation "C", whatever the database's is.
  Finding collation() {
    const std::string name =
        ask("SELECT coalesce(datcollate, '') FROM pg_database WHERE datname = current_database()");
    if (is("SELECT coalesce(datcollversion <> pg_database_collation_actual_version(oid), false) "
           "FROM pg_database WHERE datname = current_database()"))
      return warning(name + ", of another version than the system's",
                     "Run REINDEX DATABASE and ALTER DATABASE … REFRESH COLLATION VERSION.");
    return fine(name + "; berth's columns have \"C\"");
  }

  Finding connections() {
    const std::int64_t limit = number(
        "SELECT least(current_setting('max_connections')::int"
        " - current_setting('superuser_reserved_connections')::int"
        " - coalesce(current_setting('reserved_connections', true)::int, 0),"
        " CASE WHEN d.datconnlimit < 0 THEN 1000000 ELSE d.datconnlimit END,"
        " CASE WHEN r.rolconnlimit < 0 THEN 1000000 ELSE r.rolconnlimit END) "
        "FROM pg_database d, pg_roles r "
        "WHERE d.datname = current_database() AND r.rolname = current_user");
    const std::int64_t others = number(
        "SELECT count(*) FROM pg_stat_activity WHERE usename IS NOT NULL "
        "AND application_name <> current_setting('application_name')");
    const std::int64_t room = (limit - others) / connections_of_berthd;
    const std::string detail = std::to_string(limit) + " allowed, " + std::to_string(others) +
                               " used by others: enough for " + std::to_string(room) + " berthd";
    const std::string advice = "Each berthd holds up to " + std::to_string(connections_of_berthd) +
                               ", and one more runs while they are upgraded: raise "
                               "max_connections, or the limit of the role or the database.";
    if (room < 1) return failed(detail, advice);
    if (room < 2) return warning(detail, advice);
    return fine(detail);
  }

  Finding limits() {
    for (const char* name : {"statement_timeout", "lock_timeout", "idle_session_timeout"})
      if (const std::string value = ask(std::string("SHOW ") + name); value != "0")
        return warning(std::string(name) + " is " + value,
                       "Set it to 0 for the role: berthd limits what requests wait for by itself, "
                       "and its loops, audits and upgrades may take longer.");
    return fine("none but berthd's own");
  }

  Finding autovacuum() {
    if (ask("SHOW autovacuum") == "off" || ask("SHOW track_counts") == "off")
      return warning("is off",
                     "Set autovacuum and track_counts to on: balances, tokens and "
                     "sessions change all the time.");
    const std::string table =
        ask("SELECT relname FROM pg_stat_user_tables WHERE n_dead_tup > " +
            std::to_string(many_dead_rows) +
            " AND n_dead_tup > n_live_tup / 2 ORDER BY n_dead_tup DESC LIMIT 1");
    if (!table.empty())
      return warning(
          "falls behind on the table " + table,
          "Run VACUUM " + table + ", and ALTER TABLE " + table +
              " SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay "
              "= 0).");
    const std::string off = ask(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = "
        "current_schema()::regnamespace AND 'autovacuum_enabled=false' = ANY (reloptions) LIMIT 1");
    if (!off.empty())
      return warning("is off for the table " + off,
                     "Run ALTER TABLE " + off + " RESET (autovacuum_enabled).");
    return fine("keeps up");
  }

  Finding checksums() {
    if (ask("SHOW data_checksums") == "off")
      return warning("data_checksums is off",
                     "Stop the server and run pg_checksums --enable: damage of the disk would stay "
                     "unnoticed.");
    return fine("data_checksums is on");
  }

  Finding tls() {
    const std::string version =
        ask("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl");
    if (!version.empty()) {
      const std::string mode = db::postgres::parse_address(server_.address).tls;
      if (mode != "verify-full")
        return warning(version + ", without checking who answers",
                       "Set sslmode=verify-full and sslrootcert in the address.");
      return fine(version);
    }
    const auto hosts = db::postgres::parse_address(server_.address).hosts;
    if (std::ranges::all_of(hosts, db::postgres::is_on_this_machine))
      return fine("none, and nothing leaves this machine");
    return warning("none", "Switch ssl on at the server, and set sslmode=verify-full.");
  }

  Finding clock() {
    using namespace std::chrono;
    const auto before = system_clock::now();
    const milliseconds theirs(
        number("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"));
    const auto after = system_clock::now();
    const auto ours =
        duration_cast<milliseconds>((before + (after - before) / 2).time_since_epoch());
    const auto skew = theirs > ours ? theirs - ours : ours - theirs;
    const std::string detail = std::to_string(skew.count()) + " ms away from this machine's";
    if (skew > most_clock_skew + (after - before))
      return warning(detail, "Synchronize both clocks (NTP): berthd's decides what has expired.");
    return fine(detail);
  }

  const db::postgres::Server& server_;
  Connection& connection_;
  std::vector<Finding> findings_;
};

std::vector<Finding> examine_server(const db::postgres::Server& server) {
  try {
    Connection connection(server);
    std::vector<Finding> findings = {{"connection", Result::ok, move::place_of(server)}};
    for (Finding& finding : DatabaseExamination(server, connection).run())
      findings.push_back(std::move(finding));
    return findings;
  } catch (const std::runtime_error& failure) {
    return {{"connection", Result::failed, failure.what(),
             "Check the address, the password, the server's pg_hba.conf and its log. A standby "
             "isn't connected to."}};
  }
}

}  // namespace

int run_database(const Config& config) {
  if (!config.database)
    throw ConfigError(
        "doctor: the key database is empty, so berthd uses a SQLite file; check that "
        "with `berthd verify`");
  return print(examine_server(*config.database));
}

}  // namespace berth::doctor
