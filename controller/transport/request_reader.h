#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Reads one request after another from a connection, whatever the pieces are in which it arrives.
// Each has one deadline for all of it, so that a caller who sends a byte now and then is cut off
// like one who sends nothing. Input that arrives early (pipelining) is kept. Nothing here waits,
// except for await() and read_to_file(). Not thread-safe.
class RequestReader {
 public:
  RequestReader(int socket, RequestLimits limits) : socket_(socket), limits_(limits) {}
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Whether there is input that hasn't been used.
  bool has_input() const { return begin_ != end_; }
  // Waits for the first byte of a request, for at least a millisecond. Returns closed and timed_out
  // as receive() does.
  Io await(std::chrono::milliseconds patience);
  // Receives what has arrived; timed_out means that nothing has.
  Io fill();

  // Begins a request, whose time starts now.
  void begin();
  // When the request that has begun has to be complete.
  Deadline deadline() const { return deadline_; }
  // Whether the head of the request has arrived. Throws Refusal: 408 after the deadline, 414, 431,
  // and what head_size() throws.
  bool has_head();
  // Reads the head, which must have arrived, into `request`, whose views point into this reader
  // until the next call. Throws what parse_head() throws.
  RequestHead take_head(Request& request);

  enum class Body {
    complete,
    needs_input,
    // It is larger than small_body_bytes, and may have no place among the large bodies yet.
    // Otherwise thousands of connections that each send half of a large body could fill the memory.
    needs_place,
  };
  // Prepares for the body that follows this head. Throws Refusal 413, and ConnectionLost.
  void begin_body(const RequestHead& head);
  // Adds what has arrived of the body to request.body. Throws Refusal: 400, 408 after the deadline,
  // 413 and 431.
  Body read_body(Request& request, bool has_place);
  // Reads the body into a file, piece by piece, within the time and size of the upload, for which
  // it waits. Throws ConnectionLost, and Refusal: 408, 413, and 503 if the disk has no room.
  void read_to_file(const RequestHead& head, Request& request, const Upload& upload);

  // Returns what has arrived behind the request, which this reader then forgets.
  std::string take_input();

  // Frees the memory that is only kept for further input, unless there is some.
  void free_buffer();
  // Frees the memory of the head as well, so that the views of the request are invalid.
  void free_all();

 private:
  // What comes next.
  enum class Part { start, head, content, chunk_size, chunk_end, trailers, over };

  std::string_view input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t bytes) { begin_ += bytes; }
  void make_room();
  void need_time() const;
  void wait_for_input();
  void begin_framing(const RequestHead& head);
  std::optional<std::string_view> next_piece(std::size_t room);
  void take_piece(std::size_t bytes);
  std::optional<std::string_view> next_line(std::size_t limit, const Refusal& too_long);
  bool begin_chunk(std::size_t room);
  bool end_chunk();
  bool skip_trailers();

  const int socket_;
  std::chrono::milliseconds patience_{0};  // the value that was last set on the socket
  const RequestLimits limits_;
  Deadline deadline_{};
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  Part part_ = Part::start;
  std::size_t scanned_ = 0;    // see head_size()
  std::size_t head_size_ = 0;  // 0 until the head has arrived
  std::string head_;
  bool is_chunked_ = false;
  std::size_t left_ = 0;  // of the content, of the chunk, or of the room for trailers
};

}  // namespace berth::api
