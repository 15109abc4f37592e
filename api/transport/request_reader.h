#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/transport/http.h"
#include "api/transport/request_head.h"
#include "api/transport/socket.h"

namespace berth::api {

struct RequestLimits {
  std::size_t header_bytes;        // the head as a whole
  std::size_t body_bytes;          // after the chunks are put together
  std::chrono::milliseconds time;  // from a request's first byte to its last
};

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
  RequestHead read(Request& request);

 private:
  std::string_view input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }
  Io fill(Deadline deadline);
  void need_input(Deadline deadline);
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
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string head_;
};

}  // namespace berth::api
