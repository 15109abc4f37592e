// Requests as they come over a connection: heads, chunks, pipelining.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "controller/base/shares.h"
#include "controller/transport/request_head.h"
#include "controller/transport/request_reader.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

using namespace api;

Shares large_bodies(Pool::large_bodies, 1);
const RequestLimits limits = {
    .header_bytes = 16 * 1024, .body_bytes = 32 * 1024, .time = std::chrono::seconds(10)};
constexpr std::size_t refused = std::size_t(-1);
// How much a socket's buffer accepts while nobody reads.
constexpr std::size_t most_bytes = 64 * 1024;

std::size_t size_or_refused(std::string_view text, std::size_t& scanned) {
  try {
    return head_size(text, scanned);
  } catch (const Refusal&) {
    return refused;
  }
}

// Checks that the end of a head doesn't depend on the pieces in which it arrives.
void compare_pieces(std::string_view input) {
  std::size_t scanned = 0;
  const std::size_t whole = size_or_refused(input, scanned);
  for (const std::size_t step : {std::size_t(1), std::size_t(7), std::size_t(64)}) {
    std::size_t size = 0;
    scanned = 0;
    for (std::size_t have = step; size == 0 && have < input.size() + step; have += step)
      size = size_or_refused(input.substr(0, have), scanned);
    hold(size == whole, "a head ends at the same place in whatever pieces it comes");
  }
}

void look_at(const RequestHead& head, const Request& request) {
  hold(is_field_name(request.method), "a method is a token");
  hold(request.path.starts_with('/') || request.path == "*", "a path starts with a slash");
  hold(is_field_value(request.path) && is_field_value(request.raw_query) &&
           request.path.find_first_of(" ?#\t") == request.path.npos,
       "a path has no blanks and controls");
  hold(request.headers.size() <= max_header_fields, "fields are limited in their number");
  for (const auto& [name, value] : request.headers)
    hold(is_field_name(name) && is_field_value(value), "fields are well formed");
  hold(request.headers.count("Host") <= 1 && request.headers.count("Content-Length") <= 1,
       "fields that decide something are there once");
  hold(!request.headers.find("Transfer-Encoding") || !request.headers.find("Content-Length"),
       "a body has one way to end");
  hold(request.body.size() <= limits.body_bytes, "a body is limited in its size");
  if (head.framing == Framing::none) hold(request.body.empty(), "no body without a framing");
  if (head.framing == Framing::content_length)
    hold(request.body.size() == head.content_length, "a body is as long as it says");
}

// What came of a connection.
struct Outcome {
  std::vector<std::string> requests;  // those that were complete
  bool is_refused = false;
  bool operator==(const Outcome&) const = default;
};

// Reads what has arrived, until more has to arrive. Throws Refusal and ConnectionLost.
class Conversation {
 public:
  explicit Conversation(int socket) : reader_(socket, limits) { reader_.begin(); }

  // Returns false once the connection is over.
  bool read() try {
    while (true) {
      while (go_on()) {
      }
      if (reader_.fill() != Io::ok) return true;
    }
  } catch (const Refusal& refusal) {
    hold(refusal.status >= 400 && refusal.status <= 505 && refusal.status != 408,
         "a refusal says what was wrong with what came");
    outcome_.is_refused = true;
    return false;
  } catch (const ConnectionLost&) {
    return false;
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  // Returns whether something was completed.
  bool go_on() {
    if (!is_in_body_) {
      if (!reader_.has_head()) return false;
      head_ = reader_.take_head(request_);
      reader_.begin_body(head_);
      is_in_body_ = true;
      return true;
    }
    switch (reader_.read_body(request_, large_body_.has_place())) {
      case RequestReader::Body::needs_input:
        return false;
      case RequestReader::Body::needs_place:
        hold(large_body_.take() == Shares::Taken::yes, "there is a place");
        return true;
      case RequestReader::Body::complete:
        break;
    }
    look_at(head_, request_);
    outcome_.requests.push_back(std::string(request_.method) + " " + std::string(request_.path) +
                                "?" + std::string(request_.raw_query) + " " + request_.body);
    large_body_.release();
    is_in_body_ = false;
    reader_.begin();
    return true;
  }

  RequestReader reader_;
  Request request_;
  RequestHead head_;
  Shares::Claim large_body_{large_bodies, {}};
  bool is_in_body_ = false;
  Outcome outcome_;
};

Outcome read_in_pieces(std::string_view input, std::size_t step) {
  int ends[2];
  hold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  const Descriptor ours(ends[0]), theirs(ends[1]);
  Conversation conversation(ours.get());
  for (bool goes_on = true; goes_on && !input.empty();) {
    const std::string_view piece = input.substr(0, step);
    input.remove_prefix(piece.size());
    hold(::send(theirs.get(), piece.data(), piece.size(), 0) == ssize_t(piece.size()),
         "the socket takes it all at once");
    goes_on = conversation.read();
  }
  return conversation.outcome();
}

}  // namespace

void run(std::string_view input) {
  input = input.substr(0, most_bytes);
  compare_pieces(input);
  const Outcome whole = read_in_pieces(input, most_bytes);
  constexpr std::size_t much = 4096;
  if (input.size() > much) return;
  for (const std::size_t step : {std::size_t(1), std::size_t(61)})
    hold(read_in_pieces(input, step) == whole,
         "requests are the same in whatever pieces they come");
}

}  // namespace berth::fuzz
