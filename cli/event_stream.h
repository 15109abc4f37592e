#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.h"

// Reads server-sent events (WHATWG HTML, section 9.2.6).
namespace berth::cli {

struct Event {
  std::string id;    // the last id that was sent, possibly by an earlier event
  std::string name;  // "message" if the event has none
  std::string data;
};

// Parses a stream that arrives in pieces of any size.
class EventParser {
 public:
  // Calls `take` for each event that `piece` completes. Comments and unknown fields are skipped.
  // Throws Failure `failed` for an event of more than 4 MiB.
  void feed(std::string_view piece, const std::function<void(const Event&)>& take);
  const std::string& last_id() const { return id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }
  // Call this when the connection has broken: an incomplete event is dropped, and the last id
  // stays.
  void reset();

 private:
  void take_line(std::string_view line, const std::function<void(const Event&)>& take);

  std::string line_;
  bool after_cr_ = false;
  std::string id_;
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  std::optional<std::chrono::milliseconds> retry_;
};

// Follows a stream, and resumes it with Last-Event-ID if it breaks, until `take` returns false or
// the server says that nothing more will come. Throws Failure if the server refuses, or can't be
// reached for two minutes.
void follow(Api& api, const std::string& path, const std::function<bool(const Event&)>& take);

// Prints the text at this path as it comes, with the bytes that it has, until the server ends it or
// nobody reads any more. Throws Failure if the server refuses or doesn't answer.
void print_text(Api& api, const std::string& path);

}  // namespace berth::cli
