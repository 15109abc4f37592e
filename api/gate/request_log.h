#pragma once

#include <chrono>
#include <string_view>

namespace berth::api {

// What a line about a request says, besides the user and the app of the thread's claimant
// (base/shares.h).
struct RequestLine {
  std::string_view request_id;
  std::string_view method;
  std::string_view route;    // the operation's or page's name, or "none"
  std::string_view address;  // the client's, of which the network is logged
  int status = 0;
  std::chrono::steady_clock::duration took{};
};

// Whether a request was one that changes something. Its line has the level info if it succeeded.
enum class RequestKind { read, change };

// Writes the line about a request that was answered, at the level info if it changed something or
// failed by a fault of berthd. Others have the level debug: refused ones because anybody can send
// as many as they like.
void log_request(const RequestLine& line, RequestKind kind);

}  // namespace berth::api
