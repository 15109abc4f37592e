// The command line of berthd, which serves or runs one of the commands.
#include <SQLiteCpp/Exception.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "berthd/backup/commands.h"
#include "berthd/backup/progress_bar.h"
#include "berthd/config.h"
#include "berthd/data_dir.h"
#include "berthd/doctor.h"
#include "berthd/exit_codes.h"
#include "berthd/local_commands.h"
#include "berthd/move/move.h"
#include "berthd/move/restore.h"
#include "berthd/platform.h"
#include "berthd/reference.h"
#include "controller/base/log.h"
#include "controller/base/version.h"
#include "reconcilers/cluster/isolation_pod.h"

namespace berth {
namespace {

struct CommandLine {
  std::map<std::string, std::string> flags;
  bool help = false;
  bool version = false;
  bool print_config = false;
  bool check_config = false;
  int (*on_machine)(const Config&) = nullptr;  // doctor, or local
  std::string push_to;                         // the place of `local push`
  std::string reference_page;                  // empty if none is asked for
  std::vector<std::string> probe;  // the arguments of what the isolation probe's containers run
  void (*migration)(const Config&, std::ostream&, const backup::Progress&) = nullptr;
  // The command to run instead of serving.
  int (*command)(const backup::Arguments&, const Config&) = nullptr;
  backup::Arguments arguments;
};

// Adds a command that takes the argument FILE.
CLI::App* add_command(CLI::App& app, CommandLine& line, const char* name, const char* meaning,
                      int (*run)(const backup::Arguments&, const Config&)) {
  CLI::App* command = app.add_subcommand(name, meaning)->fallthrough();
  command->add_option("FILE", line.arguments.file);
  command->add_option("--passphrase-file", line.arguments.passphrase_file);
  command->final_callback([&line, run] { line.command = run; });
  return command;
}

void add_commands(CLI::App& app, CommandLine& line) {
  CLI::App* backup = add_command(app, line, "backup", "ask the running berthd for a backup archive",
                                 backup::run_backup);
  backup->add_option("--url", line.arguments.url);
  backup->add_option("--keep", line.arguments.keep)->check(CLI::Range(0, 100'000));
  backup->add_flag("--replace", line.arguments.replace);
  add_command(app, line, "restore", "make a data directory from a backup archive",
              move::run_restore);
  add_command(app, line, "verify", "check whether a database or an archive is sound",
              backup::run_verify);
}

// Adds `migrate`, whose --to or --from is a value of the key `database`.
CLI::App* add_migrate(CLI::App& app, std::string& to, std::string& from) {
  CLI::App* migrate =
      app.add_subcommand("migrate", "move the database to a PostgreSQL server, or back")
          ->fallthrough();
  CLI::Option* there = migrate->add_option("--to", to);
  migrate->add_option("--from", from)->excludes(there);
  return migrate;
}

void take_migrate(CommandLine& line, const std::string& to, const std::string& from) {
  if (to.empty() && from.empty())
    throw ConfigError(
        "migrate: --to or --from is required, with the PostgreSQL database's address");
  line.flags["database"] = to.empty() ? from : to;
  line.migration = to.empty() ? move::to_sqlite : move::to_postgres;
}

int run_migration(const CommandLine& line, const Config& config) {
  backup::ProgressBar bar("berthd migrate", std::cerr, ::isatty(STDERR_FILENO) == 1);
  line.migration(config, std::cout,
                 [&](std::uint64_t done, std::uint64_t of) { bar.show(done, of); });
  return 0;
}

// Leaves flags that berthd doesn't know to load_config(), which suggests similar ones.
void take_unknown(const std::vector<std::string>& words, CommandLine& line) {
  // Whether the word before was a flag, so that this word may be its value.
  bool behind_flag = false;
  for (const std::string& word : words) {
    const bool is_flag = word.starts_with("--");
    if (is_flag)
      line.flags.emplace(word.substr(2, word.find('=') - 2), "");
    else if (!behind_flag)
      throw ConfigError("berthd has no command " + word + "; `berthd --help` names them");
    behind_flag = is_flag && !word.contains('=');
  }
}

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app("berthd");
  app.allow_extras();
  app.set_help_flag();
  app.add_flag("-h,--help", line.help);
  app.add_flag("--version", line.version);
  auto* print =
      app.add_subcommand("config", "print every key with its value and where it came from")
          ->fallthrough();
  auto* check =
      print->add_subcommand("check", "name everything that is wrong with it")->fallthrough();
  app.add_subcommand("reference", "print a page of the reference")
      ->add_option("PAGE", line.reference_page)
      ->required()
      ->check(CLI::IsMember(reference_pages()));
  add_commands(app, line);
  std::string migrate_to, migrate_from;
  auto* migrate = add_migrate(app, migrate_to, migrate_from);
  // Only the isolation probe starts this, in its containers.
  app.add_subcommand("probe")->group("")->add_option("WORDS", line.probe)->required();
  auto* doctor = app.add_subcommand("doctor", "check whether the cluster or the database is ready")
                     ->fallthrough();
  auto* cluster = doctor->add_flag("--cluster");
  std::string doctor_database;
  auto* database = doctor->add_option("--database", doctor_database)->expected(0, 1);
  cluster->excludes(database);
  auto* this_machine = doctor->add_flag("--local")->excludes(cluster)->excludes(database);
  auto* local = app.add_subcommand("local", "this machine as the node of kubernetes: local")
                    ->fallthrough()
                    ->require_subcommand(1);
  local->add_subcommand("clean", "remove all containers, images and networks")
      ->fallthrough()
      ->final_callback([&line] { line.on_machine = local::clean; });
  local->add_subcommand("push", "push images that were built here to a registry")
      ->fallthrough()
      ->add_option("PLACE", line.push_to)
      ->required();
  std::vector<std::string> names = flag_names();
  names.emplace_back("config");
  std::map<std::string, std::string> values;
  for (const std::string& name : names) app.add_option("--" + name, values[name]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    throw ConfigError(failure.what());
  }
  for (const std::string& name : names)
    if (app.count("--" + name) > 0) line.flags[name] = values[name];
  take_unknown(app.remaining(true), line);
  if (migrate->parsed()) take_migrate(line, migrate_to, migrate_from);
  line.check_config = check->parsed();
  if (doctor->parsed()) {
    if (cluster->count() + database->count() + this_machine->count() == 0)
      throw ConfigError("doctor: --cluster, --database or --local is required");
    line.on_machine = this_machine->count() > 0 ? local::examine
                      : cluster->count() > 0    ? doctor::run
                                                : doctor::run_database;
    if (!doctor_database.empty()) line.flags["database"] = doctor_database;
  }
  line.print_config = print->parsed() && !line.check_config;
  return line;
}

void print_settings(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    std::cout << setting.key << " = " << setting.value << "\n    # " << setting.meaning << " (from "
              << setting.source << ")\n";
}

void print_usage() {
  std::cout << "usage: berthd [config [check]] [--KEY VALUE]… [--config FILE]\n"
               "       berthd reference "
               "budgets|configuration|errors|exit-codes|keys|manual|operations|pools\n"
               "       berthd backup FILE --passphrase-file FILE [--url URL] [--keep COUNT] "
               "[--replace]\n"
               "       berthd restore FILE --passphrase-file FILE [--data-dir DIR]\n"
               "       berthd verify [FILE] [--passphrase-file FILE] [--data-dir DIR]\n"
               "       berthd migrate --to|--from postgresql://… [--data-dir DIR]\n"
               "       berthd doctor --cluster [--kubeconfig FILE] [--config FILE]\n"
               "       berthd doctor --database [postgresql://…]\n"
               "       berthd doctor --local\n"
               "       berthd local push REGISTRY/PATH [--data-dir DIR]\n"
               "       berthd local clean [--data-dir DIR]\n\n"
               "Every key can be set in the file, in a variable (BERTHD_LISTEN) or by a flag "
               "(--listen).\n"
               "If -file follows the key, its value is read from a file.\n\n";
}

void print_sound(const std::vector<Setting>& settings) {
  const auto set = std::ranges::count_if(
      settings, [](const Setting& setting) { return setting.source != "default"; });
  std::cout << "the configuration is sound; " << set << " of " << settings.size()
            << " keys are set\n";
}

// Called before any thread is started, because serve() waits for these signals.
void block_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int run(int argc, char** argv) {
  try {
    const CommandLine line = parse_command_line(argc, argv);
    if (line.version) {
      std::cout << "berthd " << version << " (commit " << build_commit() << ")\n";
      return 0;
    }
    if (!line.reference_page.empty()) {
      std::cout << reference(line.reference_page);
      return 0;
    }
    if (!line.probe.empty())
      return reconcilers::run_probe_pod(reconcilers::read_probe_arguments(line.probe), std::cout);
    if (line.help) print_usage();
    const LoadedConfig loaded = load_config(line.flags, process_environment());
    if (line.check_config) {
      print_sound(loaded.settings);
      return 0;
    }
    if (line.help || line.print_config) {
      print_settings(loaded.settings);
      return 0;
    }
    if (!line.push_to.empty()) return local::push(loaded.config, line.push_to);
    if (line.on_machine != nullptr) return line.on_machine(loaded.config);
    if (line.migration != nullptr) return run_migration(line, loaded.config);
    if (line.command != nullptr) return line.command(line.arguments, loaded.config);
    block_signals();
    log::setup(loaded.config.log_format, loaded.config.log_level);
    serve(loaded.config);
    return 0;
  } catch (const ConfigError& failure) {
    for (const std::string& problem : failure.problems) std::cerr << "berthd: " << problem << "\n";
    return exit_config;
  } catch (const StartError& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return failure.code;
  } catch (const DataDirError& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return exit_data_dir;
  } catch (const SQLite::Exception& failure) {
    std::cerr << "berthd: the database: " << failure.what() << "\n";
    return exit_data_dir;
  } catch (const std::exception& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace berth

// Settings of jemalloc, which takes the place of glibc's malloc in this program (jemalloc(3),
// section TUNING): what has been free for a second is given back to the system, by one thread that
// does nothing else, and there are four arenas however many cores the machine has, because memory
// that is free in one of them isn't used by another. Without jemalloc, nothing reads them.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)
const char* malloc_conf =
    "background_thread:true,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:"
    "4";
}

int main(int argc, char** argv) { return berth::run(argc, argv); }
