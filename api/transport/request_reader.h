#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/transport/http.h"
#include "api/transport/request_head.h"
#include "api/transport/slots.h"
#include "api/transport/socket.h"

namespace berth::api {

struct RequestLimits {
  std::size_t header_bytes;        // the head as a whole
  std::size_t body_bytes;          // after the chunks are put together
  std::chrono::milliseconds time;  // from a request's first byte to its last
  // Whoever reads a body that is larger than small_body_bytes waits for one of these slots and
  // holds it until release_body(). Thousands of connections that each send half of a large body
  // would fill the memory otherwise. Must outlive the reader.
  Slots& large_bodies;
};
inline constexpr std::size_t small_body_bytes = 64 * 1024;

// The connection ended in the middle of a request: nobody is there to read an answer.
struct ConnectionLost {};

// Reads requests off one connection, one after the other, each under one deadline as a whole, so
// that a caller who sends a byte now and then is cut off like one who sends nothing. Input that
// came early (pipelining) waits for its turn. Not for several threads.
class RequestReader {
 public:
  RequestReader(int socket, RequestLimits limits);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Whether input is already there that belongs to the next request.
  bool has_input() const { return begin_ != end_; }
  // Waits for the first byte of a request. `closed` and `timed_out` as in receive().
  Io await(std::chrono::milliseconds patience);
  // Reads the request that has begun into `request`, whose views then point into this reader, up
  // to the next call. Throws Refusal (408 when time is up, 413, 431 and those of parse_head) and
  // ConnectionLost.
  // A large body that finds no slot until the deadline is refused with 503.
  RequestHead read(Request& request);
  // Says that the caller has freed the body which read() gave.
  void release_body() { large_body_.reset(); }

 private:
  std::string_view input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }
  Io fill(Deadline deadline);
  void need_input(Deadline deadline);
  void need_room(const std::string& body, Deadline deadline);
  void take_head(Deadline deadline);
  void read_sized_body(std::size_t size, std::string& body, Deadline deadline);
  void read_chunked_body(std::string& body, Deadline deadline);
  std::string_view read_line(std::size_t limit, const Refusal& too_long, Deadline deadline);
  std::size_t read_chunk_size(Deadline deadline);
  void read_chunk(std::size_t size, std::string& body, Deadline deadline);
  void skip_trailers(Deadline deadline);

  int socket_;
  std::chrono::milliseconds patience_{0};  // what the socket was told last
  RequestLimits limits_;
  std::unique_ptr<Slots::Slot> large_body_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string head_;
};

}  // namespace berth::api
