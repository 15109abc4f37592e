#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.h"

// Server-sent events as a client reads them (WHATWG HTML, section 9.2.6).
namespace berth::cli {

struct Event {
  std::string id;    // the last one that was sent, also by an earlier event
  std::string name;  // "message" where none was given
  std::string data;
};

// Takes a stream in pieces of any size.
class EventParser {
 public:
  // Calls back for each event that is complete; comments and fields of others are read over.
  void feed(std::string_view piece, const std::function<void(const Event&)>& take);
  const std::string& last_id() const { return id_; }
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }
  // The connection broke: what isn't complete is lost, the last id stays.
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

// Follows a stream, and takes it up again with Last-Event-ID where it breaks, until `take` returns
// false or the server says that nothing will come any more. Throws Failure where the server
// refuses, or isn't there for two minutes.
void follow(Api& api, const std::string& path, const std::function<bool(const Event&)>& take);

}  // namespace berth::cli
