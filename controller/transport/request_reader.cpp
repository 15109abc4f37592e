#include "controller/transport/request_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "controller/base/log.h"

namespace berth::api {
namespace {

constexpr std::size_t initial_buffer_bytes = 8 * 1024;
// The memory for a body grows with what has arrived, not with what Content-Length announces.
constexpr std::size_t body_step_bytes = 64 * 1024;
// How much of the buffer a connection keeps between two requests, so that a rare large one doesn't
// occupy memory for hours.
constexpr std::size_t kept_bytes = 64 * 1024;
// The longest line in front of a chunk: sixteen digits and extensions, which nobody uses but which
// have to be skipped.
constexpr std::size_t max_chunk_line_bytes = 256;

constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

RequestReader::RequestReader(int socket, RequestLimits limits)
    : socket_(socket), limits_(limits), buffer_(initial_buffer_bytes) {}

Io RequestReader::fill(Deadline deadline) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const Received received =
      receive(socket_, buffer_.data() + end_, buffer_.size() - end_, deadline);
  end_ += received.bytes;
  return received.io;
}

void RequestReader::need_input(Deadline deadline) {
  // The deadline is checked here too, because a caller who always has another byte ready never
  // causes a wait.
  if (std::chrono::steady_clock::now() >= deadline) {
    throw Refusal(408, "the request took too long");
  }
  switch (fill(deadline)) {
    case Io::ok:
      return;
    case Io::timed_out:
      throw Refusal(408, "the request took too long");
    case Io::closed:
      throw ConnectionLost{};
  }
}

Io RequestReader::await(std::chrono::milliseconds patience) {
  if (has_input()) return Io::ok;
  if (patience <= std::chrono::milliseconds(0)) return fill(after(patience));
  if (patience != patience_) set_patience(socket_, patience);
  patience_ = patience;
  const Received received = await_input(socket_, buffer_.data(), buffer_.size());
  begin_ = 0;
  end_ = received.bytes;
  return received.io;
}

void RequestReader::take_head(Deadline deadline) {
  // An empty line before a request is ignored (RFC 9112, section 2.2).
  while (input().size() < line_end.size()) need_input(deadline);
  if (input().starts_with(line_end)) consume(line_end.size());

  std::size_t scanned = 0;
  std::size_t size = 0;
  while ((size = head_size(input().substr(0, limits_.header_bytes), scanned)) == 0) {
    if (input().size() >= limits_.header_bytes) {
      throw Refusal(431, "the header fields are too large");
    }
    if (scanned > max_request_line_bytes && input().find(line_end) >= max_request_line_bytes) {
      throw Refusal(414, "the request line is too long");
    }
    need_input(deadline);
  }
  head_.assign(input().substr(0, size));
  consume(size);
}

RequestHead RequestReader::read_head(Request& request) {
  deadline_ = after(limits_.time);
  request.body.clear();
  request.method = {};
  request.path = {};
  take_head(deadline_);
  request.file.reset();
  return parse_head(head_, request);
}

void RequestReader::agree_to_go_on(const RequestHead& head) {
  if (head.expectation == Expectation::continue_100 && !has_input() &&
      send_all(socket_, go_on, {}, deadline_) != Io::ok) {
    throw ConnectionLost{};
  }
}

void RequestReader::read_body(const RequestHead& head, Request& request,
                              Shares::Claim& large_body) {
  if (head.framing == Framing::none) return;
  if (head.content_length > limits_.body_bytes) throw Refusal(413, "the body is too large");
  agree_to_go_on(head);
  if (head.framing == Framing::chunked) {
    read_chunked_body(request.body, large_body);
  } else {
    read_sized_body(head.content_length, request.body, large_body);
  }
  if (!has_input() && buffer_.size() > kept_bytes)
    buffer_ = std::vector<char>(initial_buffer_bytes);
}

void RequestReader::read_to_file(const RequestHead& head, Request& request, const Upload& upload) {
  static const Refusal too_large(413, "the body is too large");
  deadline_ = after(upload.time);
  if (head.framing == Framing::content_length && head.content_length > upload.max_bytes)
    throw too_large;
  try {
    const auto file = std::make_shared<BodyFile>(upload.directory);
    agree_to_go_on(head);
    if (head.framing == Framing::content_length) move_input(head.content_length, *file);
    while (head.framing == Framing::chunked) {
      const std::size_t size = read_chunk_size(deadline_);
      if (size == 0) break;
      if (size > upload.max_bytes - file->bytes()) throw too_large;
      move_input(size, *file);
      end_chunk();
    }
    if (head.framing == Framing::chunked) skip_trailers(deadline_);
    request.file = file;
  } catch (const Refusal&) {
    throw;
  } catch (const std::runtime_error& error) {
    log::error("an upload couldn't be stored", {{"reason", error.what()}});
    throw Refusal(503, "the server has no room for this at the moment");
  }
}

// Moves what comes next, of this size, into the file.
void RequestReader::move_input(std::size_t size, BodyFile& file) {
  while (size > 0) {
    if (!has_input()) need_input(deadline_);
    const std::string_view piece = input().substr(0, size);
    file.append(piece);
    consume(piece.size());
    size -= piece.size();
  }
}

void RequestReader::need_room(const std::string& body, Shares::Claim& large_body) {
  if (body.size() >= small_body_bytes && !large_body.wait(deadline_))
    throw Refusal(503, "too many large bodies are being received; try again");
}

void RequestReader::read_sized_body(std::size_t size, std::string& body,
                                    Shares::Claim& large_body) {
  const std::string_view early = input().substr(0, size);
  body.assign(early);
  consume(early.size());
  while (body.size() < size) {
    need_room(body, large_body);
    const std::size_t have = body.size();
    const std::size_t room = std::min(size - have, body_step_bytes);
    body.resize(have + room);
    const Received received = receive(socket_, body.data() + have, room, deadline_);
    body.resize(have + received.bytes);
    if (received.io == Io::closed) throw ConnectionLost{};
    if (received.io == Io::timed_out || std::chrono::steady_clock::now() >= deadline_) {
      throw Refusal(408, "the request took too long");
    }
  }
}

// See RFC 9112, section 7.1.
void RequestReader::read_chunked_body(std::string& body, Shares::Claim& large_body) {
  while (true) {
    const std::size_t size = read_chunk_size(deadline_);
    if (size == 0) break;
    if (size > limits_.body_bytes - body.size()) throw Refusal(413, "the body is too large");
    read_chunk(size, body, large_body);
  }
  skip_trailers(deadline_);
}

// The returned line is valid until the next read.
std::string_view RequestReader::read_line(std::size_t limit, const Refusal& too_long,
                                          Deadline deadline) {
  std::size_t end;
  while ((end = input().substr(0, limit).find('\n')) == std::string_view::npos) {
    if (input().size() >= limit) throw too_long;
    need_input(deadline);
  }
  if (end == 0 || input()[end - 1] != '\r') throw Refusal(400, "a line doesn't end with CR LF");
  const std::string_view line = input().substr(0, end - 1);
  consume(end + 1);
  return line;
}

std::size_t RequestReader::read_chunk_size(Deadline deadline) {
  constexpr int hexadecimal = 16;
  static const Refusal too_long(400, "the line before a chunk is too long");
  const std::string_view line = read_line(max_chunk_line_bytes, too_long, deadline);
  std::size_t size = 0;
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + line.size(), size, hexadecimal);
  if (error == std::errc::result_out_of_range) throw Refusal(413, "the body is too large");
  const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (error != std::errc() || (!rest.empty() && rest.front() != ';') || !is_field_value(rest)) {
    throw Refusal(400, "the size of a chunk is malformed");
  }
  return size;
}

void RequestReader::read_chunk(std::size_t size, std::string& body, Shares::Claim& large_body) {
  while (size > 0) {
    need_room(body, large_body);
    if (!has_input()) need_input(deadline_);
    const std::string_view piece = input().substr(0, size);
    body.append(piece);
    consume(piece.size());
    size -= piece.size();
  }
  end_chunk();
}

void RequestReader::end_chunk() {
  while (input().size() < line_end.size()) need_input(deadline_);
  if (!input().starts_with(line_end)) throw Refusal(400, "a chunk is longer than its size says");
  consume(line_end.size());
}

void RequestReader::skip_trailers(Deadline deadline) {
  static const Refusal too_large(431, "the trailer fields are too large");
  std::size_t left = limits_.header_bytes;
  while (true) {
    const std::size_t size = read_line(left, too_large, deadline).size();
    if (size == 0) return;
    left -= size + line_end.size();
  }
}

}  // namespace berth::api
