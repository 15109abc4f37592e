#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/shares.h"
#include "controller/transport/http.h"
#include "controller/transport/request_head.h"
#include "controller/transport/socket.h"

namespace berth::api {

struct RequestLimits {
  std::size_t header_bytes;        // for the whole head
  std::size_t body_bytes;          // for the body, without the framing of chunks
  std::chrono::milliseconds time;  // from a request's first byte to its last
};
inline constexpr std::size_t small_body_bytes = 64 * 1024;

// The connection ended in the middle of a request, so that nobody would read an answer.
struct ConnectionLost {};

// Reads one request after another from a connection. Each has one deadline for all of it, so that a
// caller who sends a byte now and then is cut off like one who sends nothing. Input that arrives
// early (pipelining) is kept. Not thread-safe.
class RequestReader {
 public:
  RequestReader(int socket, RequestLimits limits);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Whether input of the next request has already been read.
  bool has_input() const { return begin_ != end_; }
  // Waits for the first byte of a request. Returns closed and timed_out as receive() does.
  Io await(std::chrono::milliseconds patience);
  // Reads the head of the request that has begun into `request`, whose views point into this reader
  // until the next call. Throws ConnectionLost, and Refusal: 408 after the deadline, 431, and what
  // parse_head() throws.
  RequestHead read_head(Request& request);
  // Reads the body that follows this head, before the deadline of the request. Waits for a place of
  // `large_body` before it reads a body larger than small_body_bytes; otherwise thousands of
  // connections that each send half of a large body could fill the memory. The caller releases the
  // place once the body is no longer in memory. Throws ConnectionLost, and Refusal: 408 after the
  // deadline, 413, 431, and 503 if a large body got no place before the deadline.
  void read_body(const RequestHead& head, Request& request, Shares::Claim& large_body);
  // Reads the body into a file, piece by piece, within the time and size of the upload. Throws
  // ConnectionLost, and Refusal: 408, 413, and 503 if the disk has no room.
  void read_to_file(const RequestHead& head, Request& request, const Upload& upload);

 private:
  std::string_view input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }
  Io fill(Deadline deadline);
  void need_input(Deadline deadline);
  void agree_to_go_on(const RequestHead& head);
  void need_room(const std::string& body, Shares::Claim& large_body);
  void take_head(Deadline deadline);
  void read_sized_body(std::size_t size, std::string& body, Shares::Claim& large_body);
  void read_chunked_body(std::string& body, Shares::Claim& large_body);
  std::string_view read_line(std::size_t limit, const Refusal& too_long, Deadline deadline);
  std::size_t read_chunk_size(Deadline deadline);
  void read_chunk(std::size_t size, std::string& body, Shares::Claim& large_body);
  void end_chunk();
  void skip_trailers(Deadline deadline);
  void move_input(std::size_t size, BodyFile& file);

  int socket_;
  std::chrono::milliseconds patience_{0};  // the value that was last set on the socket
  RequestLimits limits_;
  Deadline deadline_{};  // when the request that is being read must be complete
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string head_;
};

}  // namespace berth::api
