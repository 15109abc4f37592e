#include "tests/cli/person.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "tests/programs.h"

namespace berth::cli {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int open_for_writing(const std::filesystem::path& file) {
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

std::string text_of(const Words& words) {
  std::string text = "berth";
  for (const std::string& word : words) text += " " + word;
  return text;
}

}  // namespace

// Nothing of our own environment: what is set for us must not steer it.
Running::Running(const Words& words, const std::string& input, const process::Variables& variables,
                 const std::string& program) {
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  environment.insert(environment.end(), {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"});
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(environment);
  const int in = ::open(dir_.write("in", input).c_str(), O_RDONLY | O_CLOEXEC);
  const int out = open_for_writing(dir_.path() / "out");
  const int err = open_for_writing(dir_.path() / "err");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && ::dup2(in, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2)
      ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  for (const int fd : {in, out, err}) ::close(fd);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Running::~Running() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Running::interrupt() const { ::kill(pid_, SIGTERM); }

Ran Running::wait() {
  int status = 0;
  ended_ = process::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; },
                               2 * process::patience);
  if (!ended_) throw std::runtime_error("berth doesn't end: " + err());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = out(),
          .err = err()};
}

process::Variables Person::variables_with(const process::Variables& more) const {
  // If a variable is given twice, the first one counts.
  process::Variables all = more;
  all.insert(all.end(), {{"HOME", home().string()}, {"BERTH_URL", berthd_.base_url()}});
  return all;
}

std::unique_ptr<Running> Person::start(const Words& words, const std::string& input,
                                       const process::Variables& variables) const {
  return std::make_unique<Running>(words, input, variables_with(variables));
}

Ran Person::berth(const Words& words, const std::string& input,
                  const process::Variables& variables) const {
  return start(words, input, variables)->wait();
}

Ran Person::at_terminal(const Words& words, const std::string& input,
                        const process::Variables& variables) const {
  std::string command = std::string("'") + berth::test::berth_program + "'";
  for (const std::string& word : words) command += " '" + word + "'";
  process::Variables all = variables_with(variables);
  all.emplace_back("TERM", "xterm");
  return Running({"-qec", command, "/dev/null"}, input, all, "/usr/bin/script").wait();
}

Ran Person::admin(const Words& words) const {
  Words all = {"admin"};
  all.insert(all.end(), words.begin(), words.end());
  return must(all, "", {{"BERTH_INTERNAL_SECRET", berthd_.internal_secret()}});
}

Ran Person::must(const Words& words, const std::string& input,
                 const process::Variables& variables) const {
  Ran ran = berth(words, input, variables);
  if (ran.code != 0)
    throw std::runtime_error(text_of(words) + " ended with " + std::to_string(ran.code) + ": " +
                             ran.err + berthd_.end_of_log());
  return ran;
}

json Person::credentials() const {
  return json::parse(home_.read(".local/state/berth/credentials.json"))
      .at("servers")
      .at(berthd_.base_url());
}

void Person::change_credentials(const std::function<void(json&)>& change) const {
  json all = json::parse(home_.read(".local/state/berth/credentials.json"));
  change(all.at("servers").at(berthd_.base_url()));
  home_.write(".local/state/berth/credentials.json", all.dump());
}

json Person::tokens() const {
  const json account = credentials();
  return account.at("apps").at(account.at("current").get<std::string>()).at("tokens");
}

void Person::settle_in(const std::string& username, const std::string& scopes) const {
  must({"register", "--email", username + "@example.org", "--username", username,
        "--password-stdin"},
       password());
  must({"apps", "create", "Game of " + username, "--scopes", scopes});
  admin({"approve", "--all", "--yes"});
}

}  // namespace berth::cli
