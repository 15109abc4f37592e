#include "tests/process/berthd.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/programs.h"

extern char** environ;

namespace berth::process {
namespace {

// The pauses between two looks: what is about to happen is seen at once, and what takes long isn't
// slowed down by requests that ask whether it has happened.
constexpr std::chrono::milliseconds first_pause{2};
constexpr std::chrono::milliseconds longest_pause{30};
constexpr size_t shown_of_log = 2'000;

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("BERTHD_")) result.emplace_back(*entry);
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  return content.str();
}

}  // namespace

Process::Process(const std::filesystem::path& program, const Flags& flags,
                 const std::filesystem::path& output, const Variables& variables) {
  std::vector<std::string> arguments = {program.string()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  const pid_t parent = ::getpid();
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("can't write " + output.string());
  // This uses fork() instead of posix_spawn(), so that the child can ask for a signal when the
  // parent ends; a test that is killed leaves nothing running. Only system calls are made between
  // fork() and execve().
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool orphaned = ::getppid() != parent;
    if (!orphaned && ::dup2(file, STDOUT_FILENO) >= 0 && ::dup2(file, STDERR_FILENO) >= 0)
      ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(file);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (ended_) return;
  send(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::send(int signal) const { ::kill(pid_, signal); }

std::optional<int> Process::wait(std::chrono::milliseconds time) {
  eventually(
      [&] {
        int status = 0;
        if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
          ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        return ended_.has_value();
      },
      time);
  return ended_;
}

Ended run_to_end(const Flags& flags, const Variables& variables) {
  const TempDir dir;
  Flags all = {"--data-dir",       (dir.path() / "data").string(),
               "--listen",         "127.0.0.1:0",
               "--metrics-listen", "127.0.0.1:0"};
  // A flag that is given twice is an error.
  for (size_t i = 0; i < all.size();) {
    const bool given = std::find(flags.begin(), flags.end(), all[i]) != flags.end();
    if (given)
      all.erase(all.begin() + long(i), all.begin() + long(i) + 2);
    else
      i += 2;
  }
  all.insert(all.end(), flags.begin(), flags.end());
  Process process(berth::test::berthd_program, all, dir.path() / "log", variables);
  const auto code = process.wait(patience);
  const std::string output = dir.read("log");
  if (!code) throw std::runtime_error("berthd did not end: " + output);
  return {*code, output};
}

Berthd::Berthd(Flags flags) : flags_(std::move(flags)) {
  if (test::on_postgres() && std::ranges::find(flags_, "--database") == flags_.end()) {
    database_.emplace(test::TestDatabase::Content::schema);
    flags_.insert(flags_.end(), {"--database", database_->url()});
  }
  start();
}

Berthd::Berthd(const Berthd& other, Flags flags) : flags_(std::move(flags)) {
  flags_.insert(flags_.end(), {"--database", other.database_.value().url()});
  std::filesystem::create_directory(data_dir());
  for (const char* name : {"keys.json", "internal-secret"})
    std::filesystem::copy_file(other.data_dir() / name, data_dir() / name);
  start();
}

void Berthd::start() {
  std::filesystem::remove(data_dir() / "berthd.addr");
  std::filesystem::remove(data_dir() / "berthd.metrics.addr");
  Flags all = {"--data-dir",  data_dir().string(), "--listen",
               "127.0.0.1:0", "--metrics-listen",  "127.0.0.1:0"};
  if (std::ranges::find(flags_, "--simulated-speed") == flags_.end())
    all.insert(all.end(), {"--simulated-speed", "10"});
  all.insert(all.end(), flags_.begin(), flags_.end());
  process_.reset();
  process_ = std::make_unique<Process>(berth::test::berthd_program, all, dir_.path() / "log");
  // The second of the two files that berthd writes.
  const auto written = [&] { return std::filesystem::exists(data_dir() / "berthd.metrics.addr"); };
  eventually([&] { return written() || process_->wait(std::chrono::milliseconds(0)); });
  if (!written()) fail("berthd did not start");
  port_ = read_port("berthd.addr");
  metrics_port_ = read_port("berthd.metrics.addr");
}

void Berthd::use_database(const std::string& url) {
  *(std::ranges::find(flags_, "--database") + 1) = url;
}

int Berthd::terminate() {
  send(SIGTERM);
  const auto code = process_->wait(patience);
  if (!code) fail("berthd did not end after SIGTERM");
  return *code;
}

void Berthd::kill() {
  send(SIGKILL);
  if (!process_->wait(patience)) fail("berthd did not end after SIGKILL");
}

std::string Berthd::internal_secret() const {
  std::string secret = slurp(data_dir() / "internal-secret");
  while (!secret.empty() && secret.back() == '\n') secret.pop_back();
  return secret;
}

std::vector<json> Berthd::log() const {
  std::vector<json> lines;
  std::istringstream in(log_text());
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // it is still being written
    json parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object()) throw std::runtime_error("a line of the log is no object: " + line);
    lines.push_back(std::move(parsed));
  }
  return lines;
}

std::string Berthd::end_of_log() const {
  const std::string text = log_text();
  return "its log ends with\n" + text.substr(text.size() - std::min(text.size(), shown_of_log));
}

void Berthd::fail(const std::string& what) const {
  throw std::runtime_error(what + "; " + end_of_log());
}

int Berthd::read_port(const char* file) const {
  const std::string address = slurp(data_dir() / file);
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) fail(std::string(file) + " holds no address");
  return std::stoi(address.substr(colon + 1));
}

const Berthd& shared_berthd(const Flags& flags, const std::source_location& caller) {
  // Made before `all`, which is thereby destroyed before what the first one has made, such as the
  // databases of tests/store.h.
  std::unique_ptr<Berthd> first;
  static std::string file;
  if (file.empty()) first = std::make_unique<Berthd>(flags);
  static std::map<Flags, std::unique_ptr<Berthd>> all;
  if (file != caller.file_name()) all.clear();
  file = caller.file_name();
  auto& berthd = all[flags];
  if (first) berthd = std::move(first);
  if (!berthd) berthd = std::make_unique<Berthd>(flags);
  return *berthd;
}

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (auto pause = first_pause; !holds(); pause = std::min(2 * pause, longest_pause)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace berth::process
