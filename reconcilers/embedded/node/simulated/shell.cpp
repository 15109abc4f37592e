#include "reconcilers/embedded/node/simulated/shell.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <stdexcept>

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t max_input_bytes = 64 * 1024;
constexpr std::size_t piece_bytes = 16 * 1024;
constexpr double max_sleep_seconds = 3600;
// Each shell within another one takes some of the thread's stack.
constexpr int most_shells = 16;
constexpr int shell_too_many = 2;
constexpr int shell_killed = 137;
constexpr int shell_no_such_program = 127;
constexpr char control_c = 3;
constexpr char control_d = 4;
constexpr char backspace = 127;

std::vector<std::string> words_of_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string text_of_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Shell::Shell(ShellWorld world, SessionRequest request)
    : world_(std::move(world)), request_(std::move(request)) {
  int both[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
    throw std::runtime_error("the process has too many open files");
  own_ = Descriptor(both[0]);
  others_ = Descriptor(both[1]);
  thread_ = std::thread([this] { run(); });
}

Shell::~Shell() {
  ::shutdown(own_.get(), SHUT_RDWR);
  thread_.join();
}

void Shell::kill() {
  killed_ = true;
  ::shutdown(own_.get(), SHUT_RDWR);
}

SessionEnd Shell::end() {
  const std::lock_guard lock(mutex_);
  return end_;
}

void Shell::run() {
  SessionEnd end;
  if (request_.command.empty()) {
    if (std::to_string(request_.port) == world_.port)
      serve_port();
    else
      end.failure =
          "dial tcp4 127.0.0.1:" + std::to_string(request_.port) + ": connect: connection refused";
  } else if (const auto code = known_program(request_.command)) {
    end.exit_code = killed_ ? shell_killed : *code;
  } else {
    end.exit_code = shell_no_such_program;
    end.failure = "exec: \"" + request_.command.front() + "\": executable file not found in $PATH";
  }
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  ::shutdown(own_.get(), SHUT_RDWR);
}

void Shell::serve_port() {
  while (input_.find("\r\n\r\n") == std::string::npos && input_.size() < max_input_bytes)
    if (!fill()) return;
  const std::string body = "A simulated container of " + world_.image + ".\n";
  send_all("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body);
}

bool Shell::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(own_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(std::size_t(sent));
  }
  return true;
}

bool Shell::put(std::string_view text, To to) {
  if (text.empty()) return true;
  if (request_.has_terminal) {
    std::string shown;
    for (const char c : text) {
      if (c == '\n') shown += '\r';
      shown += c;
    }
    return send_all(shown);
  }
  // podman's frames, see RunSession::Parts.
  const std::size_t size = text.size();
  std::string frame;
  frame += char(to == To::output ? 1 : 2);
  frame.append(3, '\0');
  for (const int shift : {24, 16, 8, 0}) frame += char(size >> shift & 0xff);
  frame += text;
  return send_all(frame);
}

bool Shell::fill() {
  if (!request_.has_input && !request_.command.empty()) return false;
  char piece[piece_bytes];
  for (;;) {
    const ssize_t got = ::recv(own_.get(), piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    input_.append(piece, std::size_t(got));
    return true;
  }
}

std::optional<std::string> Shell::read_line() {
  was_interrupted_ = false;
  return request_.has_terminal ? read_typed_line() : read_piped_line();
}

std::optional<std::string> Shell::read_piped_line() {
  std::size_t end = std::string::npos;
  while ((end = input_.find('\n')) == std::string::npos && input_.size() < max_input_bytes)
    if (!fill()) break;
  if (input_.empty()) return std::nullopt;
  std::string line = input_.substr(0, end == std::string::npos ? end : end + 1);
  input_.erase(0, line.size());
  return line;
}

std::optional<std::string> Shell::read_typed_line() {
  std::string line;
  for (;;) {
    if (input_.empty() && !fill()) {
      if (line.empty()) return std::nullopt;
      return line;
    }
    const char c = input_.front();
    input_.erase(0, 1);
    if (c == control_c) {
      put("^C\n");
      was_interrupted_ = true;
      return std::nullopt;
    }
    if (c == control_d) {
      if (line.empty()) return std::nullopt;
      return line;
    }
    if (c == '\r' || c == '\n') {
      put("\n");
      return line + "\n";
    }
    if (c == backspace) {
      if (!line.empty()) put("\b \b");
      if (!line.empty()) line.pop_back();
    } else if (line.size() < max_input_bytes) {
      line += c;
      put({&c, 1});
    }
  }
}

int Shell::cat() {
  while (const auto line = read_line())
    if (!put(*line)) return 1;
  return was_interrupted_ ? interrupted : 0;
}

int Shell::cat(const std::vector<std::string>& files) {
  int code = 0;
  for (const std::string& file : files) {
    const auto found = world_.files.find(file);
    if (found == world_.files.end()) {
      put("cat: " + file + ": No such file or directory\n", To::errors);
      code = 1;
    } else if (!put(found->second)) {
      return 1;
    }
  }
  return code;
}

int Shell::sleep(double seconds) {
  if (!(seconds > 0)) return 0;  // also what is no number
  const auto time = std::chrono::duration<double>(std::min(seconds, max_sleep_seconds));
  const auto until = steady_clock::now() + std::chrono::ceil<milliseconds>(time);
  for (;;) {
    const std::size_t at = request_.has_terminal ? input_.find(control_c) : std::string::npos;
    if (at != std::string::npos) {
      input_.erase(0, at + 1);
      put("^C\n");
      return interrupted;
    }
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) return 0;
    // Without a terminal only the end of the session is waited for.
    const bool listens =
        request_.has_terminal && request_.has_input && input_.size() < max_input_bytes;
    pollfd waiting{.fd = own_.get(), .events = short(listens ? POLLIN : 0), .revents = 0};
    if (::poll(&waiting, 1, int(left)) <= 0) continue;
    if ((waiting.revents & (POLLHUP | POLLERR)) != 0 || (listens && !fill())) return interrupted;
  }
}

// Returns nothing if the image has no such program.
std::optional<int> Shell::known_program(const std::vector<std::string>& words) {
  const std::string& path = words.front();
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "sh" || name == "bash" || name == "ash") return shell(words);
  if (name == "cat" && words.size() > 1) return cat({words.begin() + 1, words.end()});
  if (name == "cat") return cat();
  if (name == "true") return 0;
  if (name == "false") return 1;
  if (name == "env") {
    put(world_.variables);
    return 0;
  }
  if (name == "echo") {
    std::vector<std::string> rest(words.begin() + 1, words.end());
    const bool to_errors = !rest.empty() && rest.back() == ">&2";
    if (to_errors) rest.pop_back();
    put(text_of_words(rest) + "\n", to_errors ? To::errors : To::output);
    return 0;
  }
  if (name == "sleep")
    return sleep(words.size() > 1 ? parse_number<double>(words[1]).value_or(0) : 0);
  if (name == "stty") {
    if (!request_.has_terminal) {
      put("stty: standard input: Not a tty\n", To::errors);
      return 1;
    }
    put(std::to_string(rows_) + " " + std::to_string(columns_) + "\n");
    return 0;
  }
  if (name == "yes") {
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "y\n";
    while (put(many)) {
    }
    return 1;
  }
  return std::nullopt;
}

int Shell::shell(const std::vector<std::string>& words) {
  if (shells_ == most_shells) {
    put("sh: too many shells within each other\n", To::errors);
    return shell_too_many;
  }
  ++shells_;
  const int code = words.size() > 2 && words[1] == "-c" ? script(words[2]) : interactive();
  --shells_;
  return code;
}

int Shell::program(const std::vector<std::string>& words) {
  if (words.front() == "exit") {
    exit_ = words.size() > 1 ? parse_number<int>(words[1]).value_or(2) & 255 : 0;
    return *exit_;
  }
  if (const auto code = known_program(words)) return *code;
  put("sh: " + words.front() + ": not found\n", To::errors);
  return shell_no_such_program;
}

int Shell::script(const std::string& text) {
  int code = 0;
  for (std::size_t at = 0; at <= text.size() && !exit_ && !killed_;) {
    const std::size_t stop = std::min(text.find_first_of(";\n", at), text.size());
    const auto words = words_of_line(text.substr(at, stop - at));
    at = stop + 1;
    if (words.empty()) continue;
    code = program(words);
    if (code == interrupted && request_.has_terminal) return code;
  }
  return exit_.value_or(code);
}

int Shell::interactive() {
  int code = 0;
  while (!exit_ && !killed_) {
    if (request_.has_terminal && !put("$ ")) break;
    const auto line = read_line();
    if (!line && !was_interrupted_) break;
    if (line && line->find_first_not_of(" \n") != std::string::npos) code = script(*line);
  }
  return exit_.value_or(code);
}

std::unique_ptr<RunSession> session_of(const std::shared_ptr<Shell>& shell) {
  RunSession::Parts parts;
  parts.socket = std::move(shell->others_);
  parts.is_framed = !shell->request_.command.empty() && !shell->request_.has_terminal;
  parts.has_terminal = shell->request_.has_terminal;
  parts.how_it_ended = [shell] {
    SessionEnd end = shell->end();
    // Killed before its thread has said how it ended.
    if (shell->killed_ && !shell->request_.command.empty()) end.exit_code = shell_killed;
    return end;
  };
  parts.resize = [shell](int columns, int rows) {
    shell->columns_ = columns;
    shell->rows_ = rows;
  };
  return std::make_unique<RunSession>(std::move(parts));
}

}  // namespace berth::embedded
