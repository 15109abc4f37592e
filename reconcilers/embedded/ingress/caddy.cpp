#include "reconcilers/embedded/ingress/caddy.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <vector>

#include "controller/base/curl.h"
#include "controller/base/log.h"
#include "controller/transport/socket.h"
#include "reconcilers/embedded/node/finding.h"

extern char** environ;

namespace berth::embedded {
namespace {

using Milliseconds = std::chrono::milliseconds;

// How long Caddy may take to listen. It takes some 100 ms, and much longer on a busy machine.
constexpr std::chrono::seconds start_timeout{30};
constexpr Milliseconds look_interval{10};
constexpr std::chrono::seconds end_timeout{10};
// How long berthd waits until it starts a Caddy again that ends at once; twice as long each time.
constexpr Milliseconds first_pause{100};
constexpr Milliseconds longest_pause{10'000};
// A Caddy that served for this long hasn't ended at once.
constexpr std::chrono::seconds lasted{10};
constexpr size_t largest_answer = size_t(1) << 20;
// How much of what Caddy says about a failed start is repeated.
constexpr size_t longest_words = 500;

// Caddy collects its garbage when the heap is four times as large as what is in use, which takes a
// few MB more and a tenth less time for each request, and anyhow before it has this much.
constexpr const char* environment[] = {"GOGC=300", "GOMEMLIMIT=256MiB"};

struct Answer {
  long status = 0;  // 0: nobody answers
  std::string body;
  bool good() const { return status >= 200 && status < 300; }
};

size_t take(char* data, size_t, size_t count, void* into) noexcept {
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + count > largest_answer) return 0;
  try {
    body.append(data, count);
  } catch (const std::exception&) {
    return 0;
  }
  return count;
}

// Speaks to Caddy's administration (https://caddyserver.com/docs/api). By libcurl, because Caddy
// sends trailer fields, which Debian's cpp-httplib doesn't read.
Answer ask(const std::string& admin_socket, const char* target, const std::string* body = nullptr) {
  curl::Easy easy;
  Answer answer;
  curl::Lines fields;
  fields.add("Content-Type: application/json");
  fields.add(std::string("Origin: http://") + caddy_admin_host);
  easy.set(CURLOPT_URL, std::string("http://") + caddy_admin_host + target);
  easy.set(CURLOPT_UNIX_SOCKET_PATH, admin_socket);
  easy.set(CURLOPT_PROXY, "");
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_TIMEOUT_MS, long(Milliseconds(start_timeout).count()));
  easy.set(CURLOPT_HTTPHEADER, fields);
  if (body != nullptr) {
    easy.set(CURLOPT_POSTFIELDS, body->c_str());
    easy.set(CURLOPT_POSTFIELDSIZE, long(body->size()));
  }
  easy.set(CURLOPT_WRITEFUNCTION, &take);
  easy.set(CURLOPT_WRITEDATA, &answer.body);
  if (easy.perform() == CURLE_OK) answer.status = easy.status();
  return answer;
}

// With a pidfd, the process isn't mistaken for a later one with the same number.
Descriptor process_of(pid_t pid) { return Descriptor(int(syscall(SYS_pidfd_open, pid, 0))); }

bool has_ended(pid_t pid, std::chrono::milliseconds patience) {
  const Descriptor process = process_of(pid);
  if (!process.valid()) return true;
  pollfd waited{.fd = process.get(), .events = POLLIN, .revents = 0};
  return poll(&waited, 1, int(patience.count())) > 0;
}

// Takes the exit status, if it is a child of this process.
void reap(pid_t pid) { waitpid(pid, nullptr, WNOHANG); }

// The environment of berthd with Caddy's own directories in it, so that it never reads or writes
// those of the user.
std::vector<std::string> environment_in(const std::filesystem::path& directory) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    // berthd's own keys may be secrets.
    if (!text.starts_with("BERTHD_") && !text.starts_with("XDG_") && !text.starts_with("HOME=") &&
        !text.starts_with("NOTIFY_SOCKET=") && !text.starts_with("GOGC="))
      all.emplace_back(text);
  }
  for (const char* name : {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"})
    all.push_back(std::string(name) + "=" + directory.string());
  for (const char* entry : environment) all.emplace_back(entry);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the program in a session of its own, without the signals that berthd has blocked. Returns
// an error number, or 0.
int spawn(std::vector<std::string> command, std::vector<std::string> variables,
          const std::string& output, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, S_IRUSR | S_IWUSR);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed = posix_spawnp(&pid, command.front().c_str(), &files, &attributes,
                                  pointers_to(command).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

// What Caddy said last, without its log lines.
std::string words_in(const std::filesystem::path& output) {
  std::ifstream file(output);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && !line.starts_with('{')) last = line;
  return last.substr(0, longest_words);
}

// The configuration has a secret in it.
void write_for_the_owner(const std::filesystem::path& path, const std::string& text) {
  const Descriptor file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != ssize_t(text.size()))
    throw Unusable({"berthd can't write " + path.string() + ".", ""});
}

}  // namespace

Caddy::Caddy(Options options)
    : options_(std::move(options)),
      config_(caddy_config(options_.settings).dump()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  find_or_start();
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Caddy::~Caddy() {
  thread_.request_stop();
  eventfd_write(wake_.get(), 1);
}

pid_t Caddy::pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

int Caddy::restarts() const {
  const std::lock_guard lock(mutex_);
  return restarts_;
}

std::optional<pid_t> Caddy::running(const std::string& admin_socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (admin_socket.size() >= sizeof address.sun_path) return std::nullopt;
  admin_socket.copy(address.sun_path, admin_socket.size());
  const Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    return std::nullopt;
  return peer.pid;
}

Json Caddy::configuration(const std::string& admin_socket) {
  const Answer answer = ask(admin_socket, "/config/");
  const Json read = answer.good() ? Json::parse(answer.body, nullptr, false) : Json();
  return read.is_object() ? read : Json();
}

bool Caddy::end(const std::string& admin_socket) {
  const auto pid = running(admin_socket);
  if (!pid) return false;
  const std::string nothing;
  ask(admin_socket, "/stop", &nothing);
  if (!has_ended(*pid, end_timeout)) {
    kill(*pid, SIGKILL);
    has_ended(*pid, end_timeout);
  }
  reap(*pid);
  return true;
}

void Caddy::find_or_start() {
  if (const auto found = running(options_.settings.admin_socket())) {
    const std::lock_guard lock(mutex_);
    pid_ = *found;
    load();
    return;
  }
  const pid_t started = start();
  const std::lock_guard lock(mutex_);
  pid_ = started;
}

// Caddy does nothing if the configuration is the one that it has, but the order of the members of
// an object may be another one.
void Caddy::load() {
  const std::string& socket = options_.settings.admin_socket();
  if (configuration(socket) == Json::parse(config_)) return;
  const Answer answer = ask(socket, "/load", &config_);
  if (answer.status == 0)
    throw Unusable({"Caddy doesn't answer on " + socket + ".", "kill " + std::to_string(pid_)});
  if (!answer.good())
    throw Unusable({"Caddy refuses its configuration: " + answer.body.substr(0, longest_words),
                    "berth needs Caddy 2.6 or later."});
  log::info("Caddy has a new configuration", {{"pid", pid_}});
}

pid_t Caddy::start() {
  const CaddySettings& settings = options_.settings;
  const auto file = settings.directory / "caddy.json";
  const auto output = settings.directory / "caddy.out";
  write_for_the_owner(file, config_);
  std::filesystem::remove(settings.admin_socket());
  pid_t pid = 0;
  const int failed = spawn({options_.program, "run", "--config", file.string()},
                           environment_in(settings.directory), output.string(), pid);
  if (failed == ENOENT) throw Unusable({"Caddy isn't installed.", "apt-get install caddy"});
  if (failed != 0)
    throw Unusable(
        {options_.program + " can't be started: " + std::generic_category().message(failed) + ".",
         ""});
  const auto until = std::chrono::steady_clock::now() + start_timeout;
  while (running(settings.admin_socket()) != pid ||
         configuration(settings.admin_socket()).is_null()) {
    if (has_ended(pid, look_interval)) {
      reap(pid);
      const std::string words = words_in(output);
      throw Unusable({"Caddy exited at once" + (words.empty() ? "." : ": " + words),
                      "caddy validate --config " + file.string()});
    }
    if (std::chrono::steady_clock::now() > until) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      throw Unusable(
          {"Caddy didn't listen within " + std::to_string(start_timeout.count()) + " s.", ""});
    }
  }
  log::info("Caddy serves", {{"pid", pid},
                             {"http", settings.http.text()},
                             {"https", settings.https ? settings.https->text() : ""}});
  return pid;
}

void Caddy::watch(const std::stop_token& stop) {
  auto since = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (options_.on_serving) options_.on_serving();
    const Descriptor process = process_of(pid());
    std::array<pollfd, 2> waited = {pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = process.get(), .events = POLLIN, .revents = 0}};
    if (process.valid()) poll(waited.data(), waited.size(), -1);
    if (stop.stop_requested()) return;
    reap(pid());
    log::error("Caddy exited and is started again", {{"pid", pid()}});
    // A Caddy that ends again and again isn't started without a pause.
    if (std::chrono::steady_clock::now() - since < lasted) {
      pollfd wake{.fd = wake_.get(), .events = POLLIN, .revents = 0};
      poll(&wake, 1, int(first_pause.count()));
    }
    begin_again(stop);
    since = std::chrono::steady_clock::now();
  }
}

void Caddy::begin_again(const std::stop_token& stop) {
  for (Milliseconds pause = first_pause; !stop.stop_requested();
       pause = std::min(pause * 2, longest_pause)) {
    try {
      find_or_start();
      const std::lock_guard lock(mutex_);
      ++restarts_;
      return;
    } catch (const Unusable& failure) {
      log::error("Caddy can't be started; apps aren't served",
                 {{"error", failure.what()}, {"help", failure.finding().help}});
    }
    pollfd wake{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    poll(&wake, 1, int(pause.count()));
  }
}

void check_ingress_address(const IngressAddress& address, const std::string& key) {
  try {
    api::listen_on(address.host.empty() ? "0.0.0.0" : address.host, address.port);
  } catch (const std::runtime_error& failure) {
    const std::string what = failure.what();
    const std::string port = std::to_string(address.port);
    if (what.find(std::generic_category().message(EACCES)) != std::string::npos)
      throw Unusable({"berthd may not listen on " + address.text() + " (" + key + ").",
                      "sysctl -w net.ipv4.ip_unprivileged_port_start=" + port});
    if (what.find(std::generic_category().message(EADDRINUSE)) != std::string::npos)
      throw Unusable({"another program listens on " + address.text() + " (" + key + ").",
                      "ss -ltnp 'sport = :" + port + "' shows which one"});
    throw Unusable({what + " (" + key + ").", ""});
  }
}

}  // namespace berth::embedded
