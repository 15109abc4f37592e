#include "tests/process/event_stream.h"

#include <httplib.h>

namespace berth::process {

EventStream::EventStream(const Berthd& berthd, const std::string& path, const std::string& bearer,
                         const std::string& last_event_id)
    : http_(std::make_unique<httplib::Client>("127.0.0.1", berthd.port())) {
  http_->set_read_timeout(2 * patience);
  thread_ = std::thread([this, path, bearer, last_event_id] {
    httplib::Headers headers = {{"Authorization", "Bearer " + bearer},
                                {"Accept", "text/event-stream"}};
    if (!last_event_id.empty()) headers.emplace("Last-Event-ID", last_event_id);
    api::test::EventText text;
    http_->Get(
        path, headers,
        [this](const httplib::Response& response) {
          const std::lock_guard lock(mutex_);
          status_ = response.status;
          content_type_ = response.get_header_value("Content-Type");
          changed_.notify_all();
          return true;
        },
        [&](const char* data, size_t size) {
          const auto more = text.read(std::string_view(data, size));
          const std::lock_guard lock(mutex_);
          events_.insert(events_.end(), more.begin(), more.end());
          changed_.notify_all();
          return true;
        });
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return status_ != 0 || ended_; });
}

EventStream::~EventStream() {
  http_->stop();
  thread_.join();
}

std::vector<Event> EventStream::events(size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return events_.size() >= count || ended_; });
  return events_;
}

bool EventStream::ends() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return ended_; });
}

}  // namespace berth::process
