#include "cli/event_stream.h"

#include <iostream>
#include <thread>

#include "controller/base/text.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds default_pause{1'000};
constexpr milliseconds shortest_pause{200};
constexpr milliseconds longest_pause{10'000};
// berth's lines are far shorter. A server that sends an endless line isn't berth.
constexpr size_t most_of_event = 4 * 1024 * 1024;

}  // namespace

void EventParser::reset() {
  line_.clear();
  name_.clear();
  data_.clear();
  after_cr_ = has_data_ = false;
}

void EventParser::feed(std::string_view piece, const std::function<void(const Event&)>& take) {
  for (const char c : piece) {
    const bool second_half = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      take_line(line_, take);
      line_.clear();
    } else {
      line_ += c;
    }
    if (line_.size() + data_.size() > most_of_event)
      throw Failure(Exit::failed, "an event from the server is too large");
  }
}

void EventParser::take_line(std::string_view line, const std::function<void(const Event&)>& take) {
  if (line.empty()) {
    if (has_data_) take({.id = id_, .name = name_.empty() ? "message" : name_, .data = data_});
    name_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
  } else if (field == "retry") {
    if (const auto ms = parse_number<long>(value); ms && *ms >= 0)
      retry_ = milliseconds(std::min<long>(*ms, longest_pause.count()));
  }
}

void follow(Api& api, const std::string& path, const std::function<bool(const Event&)>& take) {
  EventParser parser;
  bool wanted = true;
  auto last_heard = Clock::now();
  while (wanted) {
    parser.reset();
    Stream stream = {.path = path, .accept = "text/event-stream", .headers = {}, .sink = {}};
    if (!parser.last_id().empty()) stream.headers.push_back("Last-Event-ID: " + parser.last_id());
    stream.sink = [&](std::string_view piece) {
      last_heard = Clock::now();
      parser.feed(piece, [&](const Event& event) { wanted = wanted && take(event); });
      return wanted;
    };
    try {
      if (!api.stream(stream)) return;
    } catch (const Failure& failure) {
      if (failure.exit != Exit::unavailable || Clock::now() - last_heard > longest_absence) throw;
    }
    if (wanted)
      std::this_thread::sleep_for(std::max(parser.retry().value_or(default_pause), shortest_pause));
  }
}

void print_text(Api& api, const std::string& path) {
  api.stream({.path = path,
              .accept = "text/plain",
              .headers = {},
              .sink =
                  [](std::string_view piece) {
                    std::cout << piece << std::flush;
                    return bool(std::cout);
                  },
              .has_end = true});
}

}  // namespace berth::cli
