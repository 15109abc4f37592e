#include "controller/db/postgres/notices.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

#include "controller/base/log.h"

namespace berth::db::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* channel = "berth";
constexpr size_t max_payload = 7'900;  // the server's limit is 8,000 bytes
// How long notices are gathered before they are sent together, because only one transaction with a
// NOTIFY can commit at a time.
constexpr milliseconds gathered_for{10};
constexpr milliseconds pause_before_connecting{500};
constexpr milliseconds time_to_say{5'000};
// The most notices that wait, for example while a connection is made. If there are more, they are
// dropped, and the other processes are told to reread everything.
constexpr size_t max_waiting = 10'000;
constexpr std::string_view look_at_everything = "everything";

// The topics' names in the order of Topic. Processes of other versions read them, so they never
// change.
constexpr std::array<std::string_view, 9> names = {
    "deployment",  "deployment_seen", "custom_domain",
    "app_balance", "webhook",         "campaign",
    "chat",        "build",           "run"};
static_assert(size_t(Topic::run) == names.size() - 1);

}  // namespace

std::vector<std::string> payloads_of(const std::set<Note>& notes) {
  std::vector<std::string> payloads;
  for (const auto& [topic, id] : notes) {
    std::string line(names.at(size_t(topic)));
    line += " " + id + "\n";
    if (line.size() > max_payload) continue;
    if (payloads.empty() || payloads.back().size() + line.size() > max_payload)
      payloads.emplace_back();
    payloads.back() += line;
  }
  return payloads;
}

std::vector<Note> notes_of(std::string_view payload) {
  std::vector<Note> notes;
  while (!payload.empty()) {
    const std::string_view line = payload.substr(0, payload.find('\n'));
    payload.remove_prefix(std::min(payload.size(), line.size() + 1));
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    for (size_t topic = 0; topic < names.size(); ++topic)
      if (names.at(topic) == line.substr(0, blank))
        notes.emplace_back(Topic(topic), line.substr(blank + 1));
  }
  return notes;
}

Notices::Notices(Server server, Calls calls)
    : server_(std::move(server)),
      calls_(std::move(calls)),
      woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "notices");
}

Notices::~Notices() {
  thread_.request_stop();
  wake();
  thread_.join();
  ::close(woken_);
}

void Notices::wake() const { ::eventfd_write(woken_, 1); }

void Notices::send(const std::vector<Note>& notes) {
  if (notes.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert(notes.begin(), notes.end());
    if (waiting_.size() > max_waiting) {
      waiting_.clear();
      has_dropped_ = true;
    }
  }
  wake();
}

void Notices::run(const std::stop_token& stop) {
  bool was_connected = false;
  while (!stop.stop_requested()) {
    try {
      Connection connection(server_);
      connection.listen(channel, steady_clock::now() + time_to_say);
      if (was_connected) calls_.missed();
      was_connected = true;
      exchange(connection, stop);
    } catch (const std::exception& failure) {
      log::warning("nothing is heard from other processes at the moment",
                   {{"error", failure.what()}});
      std::unique_lock lock(mutex_);
      stopping_.wait_for(lock, stop, pause_before_connecting, [] { return false; });
    }
  }
}

// Returns when it is to stop. Throws if the connection is lost.
void Notices::exchange(Connection& connection, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    for (const std::string& payload : connection.heard()) {
      if (payload == look_at_everything)
        calls_.missed();
      else
        calls_.heard(notes_of(payload));
    }
    std::array<pollfd, 2> waiting = {
        pollfd{.fd = connection.socket(), .events = POLLIN, .revents = 0},
        pollfd{.fd = woken_, .events = POLLIN, .revents = 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) say(connection);
  }
  say(connection);  // sends what was committed last
}

void Notices::say(Connection& connection) {
  eventfd_t ignored = 0;
  ::eventfd_read(woken_, &ignored);
  std::this_thread::sleep_for(gathered_for);
  std::set<Note> notes;
  bool has_dropped = false;
  {
    const std::lock_guard lock(mutex_);
    notes.swap(waiting_);
    std::swap(has_dropped, has_dropped_);
  }
  std::vector<std::string> payloads = payloads_of(notes);
  if (has_dropped) payloads.emplace_back(look_at_everything);
  try {
    for (const std::string& payload : payloads)
      connection.run(std::string("NOTIFY ") + channel + ", " + connection.quoted(payload),
                     steady_clock::now() + time_to_say);
  } catch (...) {
    // The notices are sent on the next connection. Those that were sent already may be sent twice,
    // which does no harm.
    const std::lock_guard lock(mutex_);
    waiting_.merge(notes);
    has_dropped_ = has_dropped_ || has_dropped;
    wake();
    throw;
  }
}

}  // namespace berth::db::postgres
