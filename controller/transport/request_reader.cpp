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

void RequestReader::make_room() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  std::size_t size = std::max(buffer_.size(), initial_buffer_bytes);
  if (end_ == buffer_.size() && end_ > 0) size *= 2;
  if (part_ == Part::content && left_ > size) size = std::max(size, body_step_bytes);
  if (size > buffer_.size()) buffer_.resize(size);
}

Io RequestReader::fill() {
  make_room();
  const Received received = receive_now(socket_, buffer_.data() + end_, buffer_.size() - end_);
  end_ += received.bytes;
  return received.io;
}

Io RequestReader::await(std::chrono::milliseconds patience) {
  if (has_input()) return Io::ok;
  make_room();
  if (patience != patience_) set_patience(socket_, patience);
  patience_ = patience;
  const Received received = await_input(socket_, buffer_.data(), buffer_.size());
  end_ = received.bytes;
  return received.io;
}

std::string RequestReader::take_input() {
  std::string taken(input());
  consume(taken.size());
  return taken;
}

void RequestReader::free_buffer() {
  if (has_input()) return;
  free_memory(buffer_);
  begin_ = end_ = 0;
}

void RequestReader::free_all() {
  free_buffer();
  free_memory(head_);
}

// The deadline is also checked here, because a caller who always has another byte ready never
// causes a wait.
void RequestReader::need_time() const {
  if (std::chrono::steady_clock::now() >= deadline_)
    throw Refusal(408, "the request took too long");
}

void RequestReader::begin() {
  deadline_ = after(limits_.time);
  part_ = Part::start;
  scanned_ = head_size_ = 0;
}

bool RequestReader::has_head() {
  if (part_ == Part::start && input().size() >= line_end.size()) {
    // An empty line before a request is ignored (RFC 9112, section 2.2).
    if (input().starts_with(line_end)) consume(line_end.size());
    part_ = Part::head;
  }
  if (head_size_ != 0) return true;
  if (part_ == Part::head) {
    head_size_ = head_size(input().substr(0, limits_.header_bytes), scanned_);
    if (head_size_ != 0) return true;
    if (input().size() >= limits_.header_bytes)
      throw Refusal(431, "the header fields are too large");
    if (scanned_ > max_request_line_bytes && input().find(line_end) >= max_request_line_bytes)
      throw Refusal(414, "the request line is too long");
  }
  need_time();
  return false;
}

RequestHead RequestReader::take_head(Request& request) {
  request.body.clear();
  request.method = {};
  request.path = {};
  request.file.reset();
  head_.assign(input().substr(0, head_size_));
  consume(head_size_);
  return parse_head(head_, request);
}

void RequestReader::begin_framing(const RequestHead& head) {
  is_chunked_ = head.framing == Framing::chunked;
  left_ = head.content_length;
  part_ = head.framing == Framing::none ? Part::over
          : is_chunked_                 ? Part::chunk_size
                                        : Part::content;
  if (part_ == Part::over || head.expectation != Expectation::continue_100 || has_input()) return;
  // These few bytes have room, unless the caller doesn't read its answers.
  if (send_now(socket_, go_on, {}).io != Io::ok) throw ConnectionLost{};
}

void RequestReader::begin_body(const RequestHead& head) {
  if (head.content_length > limits_.body_bytes) throw Refusal(413, "the body is too large");
  begin_framing(head);
}

RequestReader::Body RequestReader::read_body(Request& request, bool has_place) {
  std::string& body = request.body;
  while (true) {
    const auto piece = next_piece(limits_.body_bytes - body.size());
    if (!piece) break;
    if (piece->empty()) {
      if (buffer_.size() > kept_bytes) free_buffer();
      return Body::complete;
    }
    if (body.size() >= small_body_bytes && !has_place) return Body::needs_place;
    body.append(*piece);
    take_piece(piece->size());
  }
  need_time();
  return Body::needs_input;
}

void RequestReader::read_to_file(const RequestHead& head, Request& request, const Upload& upload) {
  deadline_ = after(upload.time);
  if (head.content_length > upload.max_bytes) throw Refusal(413, "the body is too large");
  try {
    const auto file = std::make_shared<BodyFile>(upload.directory);
    begin_framing(head);
    while (true) {
      const auto piece = next_piece(upload.max_bytes - file->bytes());
      if (piece && piece->empty()) break;
      if (piece) {
        file->append(*piece);
        take_piece(piece->size());
      } else {
        wait_for_input();
      }
    }
    request.file = file;
  } catch (const Refusal&) {
    throw;
  } catch (const std::runtime_error& error) {
    log::error("an upload couldn't be stored", {{"reason", error.what()}});
    throw Refusal(503, "the server has no room for this at the moment");
  }
}

void RequestReader::wait_for_input() {
  need_time();
  make_room();
  const Received received =
      receive(socket_, buffer_.data() + end_, buffer_.size() - end_, deadline_);
  end_ += received.bytes;
  if (received.io == Io::closed) throw ConnectionLost{};
  need_time();
}

// Returns what has arrived of the body's content, without the framing of chunks (RFC 9112, section
// 7.1): something, which take_piece() then has to be told of; nothing if more has to arrive; an
// empty piece if the body is complete. `room` is how much more content there may be.
std::optional<std::string_view> RequestReader::next_piece(std::size_t room) {
  while (true) {
    switch (part_) {
      case Part::content:
        if (left_ > 0 && !has_input()) return std::nullopt;
        if (left_ > 0) return input().substr(0, left_);
        part_ = is_chunked_ ? Part::chunk_end : Part::over;
        break;
      case Part::chunk_size:
        if (!begin_chunk(room)) return std::nullopt;
        break;
      case Part::chunk_end:
        if (!end_chunk()) return std::nullopt;
        break;
      case Part::trailers:
        if (!skip_trailers()) return std::nullopt;
        break;
      default:
        return std::string_view();
    }
  }
}

void RequestReader::take_piece(std::size_t bytes) {
  consume(bytes);
  left_ -= bytes;
}

// Returns nothing if the line isn't complete. The returned line is valid until more is received.
std::optional<std::string_view> RequestReader::next_line(std::size_t limit,
                                                         const Refusal& too_long) {
  const std::size_t end = input().substr(0, limit).find('\n');
  if (end == std::string_view::npos) {
    if (input().size() >= limit) throw too_long;
    return std::nullopt;
  }
  if (end == 0 || input()[end - 1] != '\r') throw Refusal(400, "a line doesn't end with CR LF");
  const std::string_view line = input().substr(0, end - 1);
  consume(end + 1);
  return line;
}

bool RequestReader::begin_chunk(std::size_t room) {
  constexpr int hexadecimal = 16;
  static const Refusal too_long(400, "the line before a chunk is too long");
  const auto line = next_line(max_chunk_line_bytes, too_long);
  if (!line) return false;
  std::size_t size = 0;
  const auto [end, error] =
      std::from_chars(line->data(), line->data() + line->size(), size, hexadecimal);
  if (error == std::errc::result_out_of_range) throw Refusal(413, "the body is too large");
  const std::string_view rest = line->substr(static_cast<std::size_t>(end - line->data()));
  if (error != std::errc() || (!rest.empty() && rest.front() != ';') || !is_field_value(rest)) {
    throw Refusal(400, "the size of a chunk is malformed");
  }
  if (size > room) throw Refusal(413, "the body is too large");
  left_ = size > 0 ? size : limits_.header_bytes;
  part_ = size > 0 ? Part::content : Part::trailers;
  return true;
}

bool RequestReader::end_chunk() {
  if (input().size() < line_end.size()) return false;
  if (!input().starts_with(line_end)) throw Refusal(400, "a chunk is longer than its size says");
  consume(line_end.size());
  part_ = Part::chunk_size;
  return true;
}

bool RequestReader::skip_trailers() {
  static const Refusal too_large(431, "the trailer fields are too large");
  while (true) {
    const auto line = next_line(left_, too_large);
    if (!line) return false;
    if (line->empty()) break;
    left_ -= line->size() + line_end.size();
  }
  part_ = Part::over;
  return true;
}

}  // namespace berth::api
