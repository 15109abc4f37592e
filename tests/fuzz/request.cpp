// Requests as they come over a connection: heads, chunks, pipelining.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace

void run(std::string_view input) {
  input = input.substr(0, most_bytes);
  compare_pieces(input);
  int ends[2];
  hold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  const Descriptor ours(ends[0]), theirs(ends[1]);
  hold(::send(theirs.get(), input.data(), input.size(), 0) == ssize_t(input.size()),
       "the socket takes it all at once");
  ::shutdown(theirs.get(), SHUT_WR);
  RequestReader reader(ours.get(), limits);
  Shares::Claim large_body(large_bodies, {});
  Request request;
  try {
    while (reader.await(std::chrono::milliseconds(0)) == Io::ok) {
      request.query.clear();
      request.headers.clear();
      request.host = request.raw_query = {};
      const RequestHead head = reader.read_head(request);
      reader.read_body(head, request, large_body);
      look_at(head, request);
      large_body.release();
    }
  } catch (const Refusal& refusal) {
    hold(refusal.status >= 400 && refusal.status <= 505 && refusal.status != 408,
         "a refusal says what was wrong with what came");
  } catch (const ConnectionLost&) {
  }
}

}  // namespace berth::fuzz
