#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/gate/event_text.h"
#include "tests/process/client.h"

namespace httplib {
class Client;
}

namespace berth::process {

using Event = api::test::ReadEvent;

// Server-sent events as they come, until the object's end or the stream's.
class EventStream {
 public:
  // Opens it, and waits until berthd has answered.
  EventStream(const Berthd& berthd, const std::string& path, const std::string& bearer,
              const std::string& last_event_id = "");
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  int status() const { return status_; }
  const std::string& content_type() const { return content_type_; }
  // All so far, once there are `count`, or the time is over.
  std::vector<Event> events(size_t count) const;
  // Whether berthd has ended it, now or in time.
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
