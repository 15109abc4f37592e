#include "tests/process/event_client.h"

#include <httplib.h>

namespace berth::process {
namespace {

constexpr std::chrono::milliseconds before_return{100};

}  // namespace

EventClient::EventClient(const Berthd& berthd, std::string path, std::string bearer)
    : berthd_(&berthd), path_(std::move(path)), bearer_(std::move(bearer)) {
  thread_ = std::thread([this] { run(); });
}

EventClient::~EventClient() {
  stopping_ = true;
  thread_.join();
}

std::vector<api::test::ReadEvent> EventClient::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::string EventClient::last_id() const {
  const std::lock_guard lock(mutex_);
  return last_id_;
}

void EventClient::run() {
  while (!stopping_) {
    connect();
    std::this_thread::sleep_for(before_return);
  }
}

void EventClient::connect() {
  httplib::Client http("127.0.0.1", berthd_.load()->port());
  // Comments arrive every 15 seconds; a request to stop is noticed at the next byte or after this
  // time.
  http.set_read_timeout(std::chrono::seconds(1));
  httplib::Headers headers = {{"Authorization", "Bearer " + bearer_},
                              {"Accept", "text/event-stream"}};
  {
    const std::lock_guard lock(mutex_);
    if (!last_id_.empty()) headers.emplace("Last-Event-ID", last_id_);
  }
  api::test::EventText text;
  const int generation = break_;
  const auto result = http.Get(
      path_, headers,
      [&](const httplib::Response& response) {
        last_status_ = response.status;
        if (response.status == 200) ++connections_;
        return response.status == 200;
      },
      [&](const char* data, size_t size) {
        const std::lock_guard lock(mutex_);
        for (auto& event : text.read({data, size})) events_.push_back(std::move(event));
        if (!text.last_id().empty()) last_id_ = text.last_id();
        return !stopping_ && break_ == generation;
      });
  // For an answer without a body, the library reports the status only here.
  if (result) last_status_ = result->status;
}

}  // namespace berth::process
