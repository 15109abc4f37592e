#include "berthd/backup/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "berthd/backup/fetch.h"
#include "berthd/backup/files.h"
#include "berthd/backup/progress_bar.h"
#include "berthd/backup/restore.h"
#include "berthd/backup/verify.h"
#include "berthd/data_dir.h"
#include "controller/base/sealed_file.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

constexpr const char* archive_prefix = "berth-";
constexpr const char* archive_suffix = ".backup";

void want(bool there, const std::string& what) {
  if (!there) throw ConfigError(what);
}

std::string address_of_running(const fs::path& data_dir) {
  try {
    return "http://" + read_secret(data_dir / address_name);
  } catch (const std::system_error&) {
    throw ConfigError("no berthd runs on the data directory " + data_dir.string() +
                      "; name the right one with --data-dir or --url");
  }
}

std::string internal_secret(const Config& config) {
  if (config.internal_secret) return *config.internal_secret;
  try {
    return read_secret(config.data_dir / secret_name);
  } catch (const std::system_error&) {
    throw ConfigError("internal-secret: required; set internal-secret-file");
  }
}

// The names of archives in a directory sort by their times.
fs::path place_of(const std::string& file) {
  if (!fs::is_directory(file)) return file;
  std::string time = to_iso8601(Clock().now());
  time.resize(time.find('.'));
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fs::path(file) / (archive_prefix + time + "Z" + archive_suffix);
}

void remove_oldest(const fs::path& directory, int keep) {
  std::vector<fs::path> archives;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(archive_prefix) && name.ends_with(archive_suffix))
      archives.push_back(entry.path());
  }
  std::ranges::sort(archives, std::greater<>());
  for (size_t i = size_t(keep); i < archives.size(); ++i) {
    fs::remove(archives[i]);
    std::cerr << "berthd backup: removed " << archives[i].string() << "\n";
  }
}

std::string start_of(const fs::path& file) {
  const OpenFile opened(file, O_RDONLY);
  return read_some(opened.get(), sealed_file::header_bytes);
}

}  // namespace

std::string passphrase_of(const Arguments& arguments) {
  want(!arguments.passphrase_file.empty(), "--passphrase-file is required");
  try {
    const std::string passphrase = read_secret(arguments.passphrase_file);
    want(!passphrase.empty(), "passphrase-file: " + arguments.passphrase_file + " is empty");
    return passphrase;
  } catch (const std::system_error& failure) {
    throw ConfigError("passphrase-file: " + std::string(failure.what()));
  }
}

Progress progress_line(const char* command) {
  using Steady = std::chrono::steady_clock;
  static constexpr std::chrono::seconds between{1};
  return [command, last = Steady::now()](std::uint64_t done, std::uint64_t of) mutable {
    if (Steady::now() - last < between) return;
    last = Steady::now();
    static constexpr std::uint64_t mib = 1 << 20;
    std::cerr << "berthd " << command << ": " << done / mib << " of " << of / mib << " MiB\n";
  };
}

int run_backup(const Arguments& arguments, const Config& config) {
  want(!arguments.file.empty(), "backup: FILE is required");
  const std::string passphrase = passphrase_of(arguments);
  want(passphrase.size() >= min_passphrase_bytes,
       "passphrase-file: a passphrase must have at least 12 bytes");
  const fs::path place = place_of(arguments.file);
  want(arguments.replace || !fs::exists(fs::symlink_status(place)),
       "backup: " + place.string() + " exists already; name another file, or add --replace");
  std::string url = arguments.url.empty() ? address_of_running(config.data_dir) : arguments.url;
  while (url.ends_with('/')) url.pop_back();
  fetch({.url = url,
         .internal_secret = internal_secret(config),
         .passphrase = passphrase,
         .file = place},
        progress_line("backup"));
  std::cerr << "berthd backup: wrote " << place.string() << ", " << fs::file_size(place)
            << " bytes\n";
  if (arguments.keep > 0 && fs::is_directory(arguments.file))
    remove_oldest(arguments.file, arguments.keep);
  return 0;
}

int run_restore(const Arguments& arguments, const Config& config) {
  want(!arguments.file.empty(), "restore: FILE is required");
  const Manifest manifest =
      restore(arguments.file, passphrase_of(arguments), config.data_dir, progress_line("restore"));
  std::cerr << "berthd restore: " << config.data_dir.string() << " was restored to its state of "
            << to_iso8601(manifest.made_at) << "\n";
  return 0;
}

int run_verify(const Arguments& arguments, const Config& config) {
  ProgressBar bar("berthd verify", std::cerr, ::isatty(STDERR_FILENO) == 1);
  const Progress progress = [&](std::uint64_t done, std::uint64_t of) { bar.show(done, of); };
  if (arguments.file.empty() && config.database)
    return verify_server(*config.database, std::cout, progress) == Verdict::sound ? 0 : 1;
  const fs::path file =
      arguments.file.empty() ? config.data_dir / database_name : fs::path(arguments.file);
  const bool is_archive = sealed_file::looks_sealed(start_of(file));
  const std::string passphrase = is_archive ? passphrase_of(arguments) : "";
  const Verdict verdict = is_archive ? verify_archive(file, passphrase, std::cout, progress)
                                     : verify_database(file, std::cout, progress);
  return verdict == Verdict::sound ? 0 : 1;
}

}  // namespace berth::backup
