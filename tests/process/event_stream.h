#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/event_text.h"
#include "tests/process/client.h"

namespace httplib {
class Client;
}

namespace berth::process {

using Event = api::test::ReadEvent;

// Server-sent events as they arrive, until this object is destroyed or the stream ends.
class EventStream {
 public:
  // Opens the stream and waits until berthd has answered.
  EventStream(const Berthd& berthd, const std::string& path, const std::string& bearer,
              const std::string& last_event_id = "");
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  int status() const { return status_; }
  const std::string& content_type() const { return content_type_; }
  // Returns all events so far, once there are `count` of them or the time is over.
  std::vector<Event> events(size_t count) const;
  // Returns whether berthd has ended the stream, or does so in time.
  bool ends() const;

 private:
  std::unique_ptr<httplib::Client> http_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;
  int status_ = 0;
  std::string content_type_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace berth::process
