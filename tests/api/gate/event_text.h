#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/transport/http.h"

// Reads text/event-stream, as WHATWG HTML, section 9.2.6 describes.
namespace berth::api::test {

struct ReadEvent {
  std::string id;    // the last id before the event was dispatched
  std::string name;  // "message" if it had none
  std::string data;
  bool operator==(const ReadEvent&) const = default;
};

class EventText {
 public:
  // Takes a piece of the stream and returns the events that it completes.
  std::vector<ReadEvent> read(std::string_view text) {
    rest_ += text;
    std::vector<ReadEvent> events;
    for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty()) {
        last_id_ = id_;
        if (data_) events.push_back({id_, name_.empty() ? "message" : name_, *data_});
        data_.reset();
        name_.clear();
      } else {
        field(line);
      }
    }
    return events;
  }
  const std::string& retry() const { return retry_; }
  int comments() const { return comments_; }
  // Returns the id of the last complete block, with or without an event: where to resume.
  const std::string& last_id() const { return last_id_; }

 private:
  void field(const std::string& line) {
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string name = line.substr(0, colon);
    std::string value = colon < line.size() ? line.substr(colon + 1) : "";
    if (value.starts_with(' ')) value.erase(0, 1);
    if (name.empty()) ++comments_;
    if (name == "id") id_ = value;
    if (name == "event") name_ = value;
    if (name == "retry") retry_ = value;
    if (name == "data") data_ = data_ ? *data_ + "\n" + value : value;
  }

  std::string rest_, id_, last_id_, name_, retry_;
  std::optional<std::string> data_;
  int comments_ = 0;
};

// Calls a stream as the server does: after a step that waits for news, the next one comes when the
// stream was woken or its time has come.
class Steps {
 public:
  explicit Steps(const Stream& stream) : stream_(stream) {
    if (!stream_.waker()) return;
    stream_.waker()->connect([this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      changed_.notify_all();
    });
  }
  ~Steps() {
    if (stream_.waker()) stream_.waker()->connect({});
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Makes the next call. Returns whether another one follows.
  bool next(const Sink& sink) {
    {
      std::unique_lock lock(mutex_);
      if (last_ == Next::news) changed_.wait_until(lock, last_.at, [&] { return woken_; });
      woken_ = false;
    }
    last_ = stream_(sink);
    return last_ == Next::more || last_ == Next::news;
  }

 private:
  const Stream& stream_;
  Next last_ = Next::more;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

}  // namespace berth::api::test
