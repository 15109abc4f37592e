#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "controller/db/postgres/database.h"
#include "tests/simulate/engine.h"
#include "tests/store.h"

namespace berth::simulate {
namespace {

using db::postgres::Fault;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t steps_per_fault = 6, steps_per_cut = 30;
constexpr std::uint64_t most_statements = 20;  // of a write, until a fault comes
// How often a write is run that collides or loses its connection each time.
constexpr unsigned attempts = 4;
// How long berth looks for the outcome of a write, and for a server that answers a read.
constexpr milliseconds patience{100};
// How long the server may take to end what clients have left.
constexpr milliseconds longest_end{30'000}, between_looks{1};

class PostgresEngine final : public Engine {
 public:
  explicit PostgresEngine(const std::filesystem::path& directory)
      : way_(directory / "server"), admin_({.address = store_.address(), .password_file = {}}) {
    make_reachable();
  }
  ~PostgresEngine() override {
    database_.reset();
    cut_connections();  // transactions that were left open keep the database from being emptied
  }

  db::Database& open(const Clock& clock) override {
    heal();
    cut_connections();
    unknown_outcomes_ = 0;
    // What is said last of a keyword counts.
    const db::postgres::Server server = {.address = store_.address() + " host=" + way_.string(),
                                         .password_file = {}};
    database_.emplace(
        server, clock,
        db::postgres::Options{.attempts = attempts,
                              .patience = patience,
                              .look_interval = {},
                              .fault = [this](std::string_view sql) { return fault_before(sql); }});
    connect_reads();
    return *database_;
  }

  void draw_fault(const Draw& draw) override {
    if (draw(steps_per_cut) == 0 && !is_failing()) {
      cut_connections();
      connect_reads();
    }
    if (draw(steps_per_fault) != 0) return;
    constexpr Fault faults[] = {Fault::collision, Fault::lost_before, Fault::lost_after};
    constexpr Lasting lasting[] = {Lasting::once, Lasting::each_run, Lasting::unreachable};
    heal();
    fault_ = faults[draw(std::size(faults))];
    lasting_ = lasting[draw(std::size(lasting))];
    // A collision doesn't put the server out of reach.
    if (fault_ == Fault::collision && lasting_ == Lasting::unreachable)
      lasting_ = Lasting::each_run;
    at_commit_ = draw(3) == 0;
    nth_ = 1 + draw(most_statements);
  }

  void heal() override {
    fault_ = Fault::none;
    is_failing_ = false;
    make_reachable();
  }
  bool is_failing() const override { return is_failing_; }

  bool is_in_doubt(bool) override {
    const auto before = std::exchange(unknown_outcomes_, database_->unknown_outcomes());
    return before != unknown_outcomes_;
  }

  // A transaction that changes something has a number as long as it runs.
  bool wait_for_outcome() override {
    const auto until = steady_clock::now() + longest_end;
    while (!admin_
                .text("SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                      "AND backend_xid IS NOT NULL")
                .empty()) {
      if (steady_clock::now() >= until) throw std::runtime_error("a transaction doesn't end");
      std::this_thread::sleep_for(between_looks);
    }
    return true;
  }

 private:
  // How long a fault lasts: for one run of a write; for each run of all writes; or for one run, and
  // from then on no further connection can be made.
  enum class Lasting { once, each_run, unreachable };

  // berthd finds the server by a link, so that it can be out of its reach.
  void make_reachable() {
    if (!std::filesystem::is_symlink(way_))
      std::filesystem::create_directory_symlink(
          std::filesystem::path(test::socket_of_server()).parent_path(), way_);
  }

  // Ends all connections of the simulated process, as the server does that ends or loses them.
  // Returns when they are gone, because berth repeats no read whose connection is lost later.
  void cut_connections() {
    admin_.run(
        "SELECT pg_terminate_backend(pid, " + std::to_string(longest_end.count()) +
        ") FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
  }

  // The simulation reads while the server is out of reach, on the connection that there is then.
  void connect_reads() {
    database_->read([](db::Tx& tx) { tx.number("SELECT 1"); });
  }

  // Counts the statements of writes alone, since a read whose connection is lost isn't repeated.
  Fault fault_before(std::string_view sql) {
    if (sql.starts_with("BEGIN")) {
      is_in_write_ = !sql.ends_with("READ ONLY");
      statements_ = 0;
    }
    // A write's connection was found dead, and these are the first statements of the next one.
    if (sql.starts_with("SET client_min_messages")) is_in_write_ = false;
    if (!is_in_write_ || fault_ == Fault::none) return Fault::none;
    ++statements_;
    const bool is_commit = sql == "COMMIT";
    is_in_write_ = !is_commit && sql != "ROLLBACK";
    if (at_commit_ ? !is_commit : statements_ != nth_) return Fault::none;
    // Going back never collides.
    if (fault_ == Fault::collision && sql.starts_with("ROLLBACK")) return Fault::none;
    is_in_write_ = is_in_write_ && fault_ == Fault::collision;
    is_failing_ = lasting_ != Lasting::once;
    if (lasting_ == Lasting::unreachable) std::filesystem::remove(way_);
    return lasting_ == Lasting::each_run ? fault_ : std::exchange(fault_, Fault::none);
  }

  const test::TestDatabase store_{test::TestDatabase::Content::schema};
  const std::filesystem::path way_;
  db::postgres::Connection admin_;  // of the simulation itself, without faults
  Fault fault_ = Fault::none;       // that is to come
  Lasting lasting_ = Lasting::once;
  bool at_commit_ = false;  // it comes with COMMIT,
  std::uint64_t nth_ = 0;   // or else with this statement of a write, counted from 1
  bool is_in_write_ = false;
  std::uint64_t statements_ = 0;  // of this run
  bool is_failing_ = false;
  std::uint64_t unknown_outcomes_ = 0;  // that is_in_doubt() has seen
  std::optional<db::postgres::Database> database_;
};

}  // namespace

std::unique_ptr<Engine> postgres_engine(const std::filesystem::path& directory) {
  return std::make_unique<PostgresEngine>(directory);
}

}  // namespace berth::simulate
