// simulate: runs the economy of points from a seed, and compares it with a model in plain maps.
//
// The store is SQLite, or PostgreSQL if the variable BERTH_TEST_POSTGRES has the address of a
// server (tests/store.h). A failing seed is printed and can be repeated: --seed SEED --steps STEPS.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>

#include "tests/simulate/economy.h"
#include "tests/simulate/farmers.h"
#include "tests/simulate/fixed_random.h"
#include "tests/store.h"

namespace berth::simulate {
namespace {

struct Task {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  int steps = 1'000;
  unsigned jobs = 1;
  // Number of steps; 0 means each step for a single seed, and else every tenth.
  int audit_every = 0;
  std::filesystem::path directory;
};

// The result of one seed, which a worker sends to its parent as a line.
struct Result {
  std::uint64_t seed = 0;
  Counts counts;
  std::string broken;  // empty if everything held
};

class Directory {
 public:
  explicit Directory(const std::filesystem::path& parent) {
    std::string name = (parent / "berth-simulate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory in " + name);
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Result run(std::uint64_t seed, const Task& task) {
  fix_random(seed);
  const Directory directory(task.directory);
  Result result = {.seed = seed, .counts = {}, .broken = {}};
  std::unique_ptr<Engine> engine;
  std::optional<Economy> economy;
  try {
    engine =
        test::on_postgres() ? postgres_engine(directory.path()) : sqlite_engine(directory.path());
    economy.emplace(seed, *engine, task.audit_every);
    for (int i = 0; i < task.steps; ++i) economy->step();
    economy->audit();
  } catch (const std::exception& failure) {
    result.broken = failure.what();
  }
  if (economy) result.counts = economy->counts();
  return result;
}

// Each job is a process of its own, which works on every `jobs`th seed.
void work(const Task& task, unsigned job, std::FILE* out) {
  for (std::uint64_t i = job; i < task.seeds; i += task.jobs) {
    const Result result = run(task.first_seed + i, task);
    const Counts& counts = result.counts;
    std::fprintf(out, "%llu %d %d %d %d %d %d %s\n", static_cast<unsigned long long>(result.seed),
                 counts.steps, counts.answered, counts.reruns, counts.faults, counts.doubts,
                 counts.kills, result.broken.c_str());
    std::fflush(out);
  }
}

// Prints what each way of farming has brought. Returns whether all are within their bound.
bool report_farmers(const std::filesystem::path& parent) {
  std::optional<Directory> directory;
  std::unique_ptr<Engine> engine;
  const auto harvests = farm([&]() -> Engine& {
    engine.reset();
    directory.emplace(parent);
    engine = sqlite_engine(directory->path());
    return *engine;
  });
  const Harvest* best = &harvests.front();
  for (const Harvest& one : harvests) {
    std::printf("farmers: %lld points given to %d accounts in %d days; %s gathered %lld of them\n",
                static_cast<long long>(one.given), farm_accounts, farm_days, one.way.c_str(),
                static_cast<long long>(one.gathered));
    if (one.gathered > best->gathered) best = &one;
  }
  std::printf("farmers: the best of %zu earns %lld points by %s; at most %lld are allowed\n",
              harvests.size(), static_cast<long long>(best->gathered), best->way.c_str(),
              static_cast<long long>(most_gathered));
  return best->gathered <= most_gathered;
}

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t broken = 0;
  long long steps = 0, answered = 0, reruns = 0, faults = 0, doubts = 0, kills = 0;
};

void show_progress(const Totals& totals, const Task& task) {
  if (isatty(STDERR_FILENO) == 0) return;
  constexpr int width = 40;
  const int filled = int(totals.seeds * width / task.seeds);
  std::fprintf(
      stderr, "\r[%s%s] %llu of %llu seeds, %llu broken", std::string(size_t(filled), '#').c_str(),
      std::string(size_t(width - filled), '.').c_str(),
      static_cast<unsigned long long>(totals.seeds), static_cast<unsigned long long>(task.seeds),
      static_cast<unsigned long long>(totals.broken));
}

void take(const char* line, Totals& totals, const Task& task) {
  unsigned long long seed = 0;
  Counts counts;
  int at = 0;
  std::sscanf(line, "%llu %d %d %d %d %d %d %n", &seed, &counts.steps, &counts.answered,
              &counts.reruns, &counts.faults, &counts.doubts, &counts.kills, &at);
  ++totals.seeds;
  totals.steps += counts.steps;
  totals.answered += counts.answered;
  totals.reruns += counts.reruns;
  totals.faults += counts.faults;
  totals.doubts += counts.doubts;
  totals.kills += counts.kills;
  if (line[at] != '\0' && line[at] != '\n') {
    ++totals.broken;
    std::printf("\nseed %llu: %s    replay: make simulate SEED=%llu STEPS=%d%s\n", seed, line + at,
                seed, task.steps, test::on_postgres() ? " STORE=postgres" : "");
  }
  show_progress(totals, task);
}

int simulate(const Task& task) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::vector<pid_t> workers;
  for (unsigned job = 0; job < task.jobs; ++job) {
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process");
    if (pid == 0) {
      close(ends[0]);
      // Without this, every failure of the disk would be logged.
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      std::FILE* out = fdopen(ends[1], "w");
      work(task, job, out);
      std::fclose(out);
      _exit(0);
    }
    workers.push_back(pid);
  }
  close(ends[1]);
  std::FILE* in = fdopen(ends[0], "r");
  Totals totals;
  char* line = nullptr;
  size_t size = 0;
  while (getline(&line, &size, in) > 0) take(line, totals, task);
  std::free(line);
  std::fclose(in);
  bool ended_well = true;
  for (const pid_t pid : workers) {
    int status = 0;
    waitpid(pid, &status, 0);
    ended_well = ended_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::printf(
      "\n%llu of %llu seeds held: %lld steps, %lld answered as the model says, %lld further runs, "
      "%lld refused by a failing %s (%lld in doubt), %lld kills\n",
      static_cast<unsigned long long>(totals.seeds - totals.broken),
      static_cast<unsigned long long>(task.seeds), totals.steps, totals.answered, totals.reruns,
      totals.faults, test::on_postgres() ? "server" : "disk", totals.doubts, totals.kills);
  return ended_well && totals.broken == 0 && totals.seeds == task.seeds ? 0 : 1;
}

}  // namespace
}  // namespace berth::simulate

int main(int argc, char** argv) {
  berth::simulate::Task task;
  task.jobs = std::max(1U, std::thread::hardware_concurrency());
  // Uses a file system in memory if there is one, because there are thousands of syncs per second.
  task.directory =
      std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
  CLI::App app("The economy of points, simulated from seeds and compared with a model");
  app.add_option("--seed", task.first_seed, "the first seed")->capture_default_str();
  app.add_option("--seeds", task.seeds, "how many, one after the other")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", task.steps, "of each seed")->check(CLI::PositiveNumber);
  app.add_option("--audit-every", task.audit_every,
                 "steps between two audits of the ledger; where it is left out, a single seed is "
                 "audited at each step, and many at every tenth")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", task.jobs, "processes")->check(CLI::Range(1, 256));
  CLI11_PARSE(app, argc, argv);
  if (task.audit_every == 0) task.audit_every = task.seeds == 1 ? 1 : 10;
  try {
    // On PostgreSQL, where the rules are the same, this would take minutes.
    const bool bounded =
        berth::test::on_postgres() || berth::simulate::report_farmers(task.directory);
    const int code = berth::simulate::simulate(task);
    return bounded ? code : 1;
  } catch (const std::exception& failure) {
    std::cerr << "simulate: " << failure.what() << "\n";
    return 2;
  }
}
