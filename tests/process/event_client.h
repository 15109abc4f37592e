#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/gate/event_text.h"
#include "tests/process/client.h"

// A client of server-sent events that resumes with Last-Event-ID until it is destroyed, as an
// EventSource does.
namespace berth::process {

class EventClient {
 public:
  EventClient(const Berthd& berthd, std::string path, std::string bearer);
  ~EventClient();
  EventClient(const EventClient&) = delete;
  EventClient& operator=(const EventClient&) = delete;

  std::vector<api::test::ReadEvent> events() const;
  // Returns the id with which it resumes; empty until a stream has said where it begins.
  std::string last_id() const;
  // Returns how often it has connected.
  int connections() const { return connections_; }
  int last_status() const { return last_status_; }
  // Breaks the connection and connects again.
  void reconnect() { ++break_; }
  // The same, to another berthd on the same database, which has to outlive this object.
  void move_to(const Berthd& other) {
    berthd_ = &other;
    reconnect();
  }

 private:
  void run();
  void connect();

  std::atomic<const Berthd*> berthd_;
  const std::string path_;
  const std::string bearer_;
  mutable std::mutex mutex_;
  std::vector<api::test::ReadEvent> events_;
  std::string last_id_;
  std::atomic<int> connections_ = 0;
  std::atomic<int> last_status_ = 0;
  std::atomic<int> break_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace berth::process
