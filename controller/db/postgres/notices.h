#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "controller/db/database.h"
#include "controller/db/postgres/connection.h"

namespace berth::db::postgres {

// Sends notes about commits to the other berthd processes on a database, and receives theirs
// (LISTEN and NOTIFY). They are hints: those of a process that dies don't arrive, and a process
// whose connection is lost doesn't receive those of that time. Thread-safe.
class Notices {
 public:
  // Called on a thread of this object. They must be quick and must not throw.
  struct Calls {
    // Called with what another process has committed.
    std::function<void(const std::vector<Note>&)> heard;
    std::function<void()> missed;  // something may not have been heard
  };
  // Makes a connection of its own, and a new one when that is lost.
  Notices(Server server, Calls calls);
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Returns at once. Notes of some milliseconds are sent together, each of them once.
  void send(const std::vector<Note>& notes);

 private:
  void run(const std::stop_token& stop);
  void exchange(Connection& connection, const std::stop_token& stop);
  void say(Connection& connection);
  void wake() const;

  const Server server_;
  const Calls calls_;
  const int woken_;  // an eventfd, readable while there is something to send
  std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::set<Note> waiting_;
  bool has_dropped_ = false;
  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

// The notes as the payloads of NOTIFY, each as long as the server allows or shorter, and the notes
// of such a payload. Notes of a newer version that this one doesn't know are left out.
std::vector<std::string> payloads_of(const std::set<Note>& notes);
std::vector<Note> notes_of(std::string_view payload);

}  // namespace berth::db::postgres
