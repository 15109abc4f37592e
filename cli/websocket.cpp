#include "cli/websocket.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/base/websocket_frame.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

// How long the server may take to answer the handshake: it asks the cluster meanwhile, which may
// take 15 s.
constexpr std::chrono::seconds handshake_time{30};
constexpr size_t most_of_head = 64 * 1024;
constexpr size_t most_of_refusal = 1024 * 1024;
constexpr int switching_protocols = 101;

using websocket_frame::byte_at;

[[noreturn]] void break_off(const std::string& why) { throw NoAnswer(why, NoAnswer::Why::broken); }

}  // namespace

namespace websocket {

std::string encode(Kind kind, std::string_view data, std::string_view mask) {
  using namespace websocket_frame;
  std::string frame = head(std::uint8_t(kind), data.size(), Masked::yes);
  frame += mask;
  for (size_t i = 0; i < data.size(); ++i)
    frame += char(byte_at(data, i) ^ byte_at(mask, i % mask_bytes));
  return frame;
}

std::optional<Message> Reader::next() {
  while (true) {
    if (input_.size() < 2) return std::nullopt;
    const unsigned first = byte_at(input_, 0);
    const unsigned second = byte_at(input_, 1);
    if ((first & websocket_frame::reserved_bits) != 0 || (second & websocket_frame::mask_bit) != 0)
      break_off("the server doesn't speak WebSocket as the standard says");
    const unsigned announced = second & websocket_frame::length_bits;
    const size_t of_length = websocket_frame::bytes_of_length(announced);
    const size_t head = 2 + of_length;
    if (input_.size() < head) return std::nullopt;
    const std::uint64_t size =
        of_length == 0 ? announced : websocket_frame::number_at(input_, 2, of_length);
    if (size > most_of_message || message_.size() + size > most_of_message)
      break_off("the server sends a longer message than any of berth's");
    if (input_.size() < head + size) return std::nullopt;
    std::string data = input_.substr(head, size);
    input_.erase(0, head + size);
    const unsigned opcode = first & websocket_frame::opcode_bits;
    const bool is_final = (first & websocket_frame::final_bit) != 0;
    if (opcode >= unsigned(Kind::close)) {
      if (opcode > unsigned(Kind::pong) || !is_final)
        break_off("the server doesn't speak WebSocket as the standard says");
      Message control = {.kind = Kind(opcode), .data = std::move(data)};
      if (control.kind == Kind::close && control.data.size() >= 2) {
        control.code = std::uint16_t(byte_at(control.data, 0) << 8 | byte_at(control.data, 1));
        control.data.erase(0, 2);
      }
      return control;
    }
    const bool continues = opcode == websocket_frame::continuation;
    if (continues != in_message_ || (!continues && opcode > unsigned(Kind::binary)))
      break_off("the server doesn't speak WebSocket as the standard says");
    if (!continues) kind_ = Kind(opcode);
    message_ += data;
    in_message_ = !is_final;
    if (is_final) return Message{.kind = kind_, .data = std::exchange(message_, {})};
  }
}

}  // namespace websocket

WebSocket::WebSocket(const HttpRequest& request, const std::string& subprotocol) {
  connect(request);
  shake_hands(request, subprotocol);
}

void WebSocket::connect(const HttpRequest& request) {
  set_up_connection(easy_, request.url, &error_[0]);
  easy_.set(CURLOPT_CONNECT_ONLY, 1L);
  // Neither HTTP/2 nor what a proxy would make of the request.
  easy_.set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1));
  easy_.set(CURLOPT_HTTPPROXYTUNNEL, 1L);
  const CURLcode code = easy_.perform();
  if (code != CURLE_OK)
    throw NoAnswer(error_[0] == '\0' ? curl_easy_strerror(code) : error_, reason_of(code));
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK ||
      socket == CURL_SOCKET_BAD)
    break_off("the connection has no socket");
  socket_ = socket;
}

void WebSocket::shake_hands(const HttpRequest& request, const std::string& subprotocol) {
  const auto url = parse_url(request.url);
  if (!url) break_off("the server's address can't be read");
  const std::string key = base64(random_bytes(16));
  out_ = "GET " + (url->rest.empty() ? "/" : url->rest) + " HTTP/1.1\r\nHost: " + url->authority() +
         "\r\nUser-Agent: " + user_agent() +
         "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: " +
         key + "\r\n";
  if (!subprotocol.empty()) out_ += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n";
  for (const std::string& header : request.headers) out_ += header + "\r\n";
  out_ += "\r\n";
  const auto deadline = Clock::now() + handshake_time;
  while (true) {
    flush();
    if (out_.empty()) break;
    wait(POLLOUT, deadline);
  }
  read_answer();
  if (answer_.status == switching_protocols &&
      answer_.header("sec-websocket-accept") != websocket_frame::accept_of(key))
    break_off("the server doesn't speak WebSocket as the standard says");
}

// Reads the head of the answer and, if it is a refusal, its body. What follows belongs to the
// frames.
void WebSocket::read_answer() {
  const auto deadline = Clock::now() + handshake_time;
  size_t end = std::string::npos;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
    if (input_.size() > most_of_head) break_off("the server's answer has too long a head");
    if (!fill()) wait(POLLIN, deadline);
  }
  const std::string head = input_.substr(0, end + 2);
  input_.erase(0, end + 4);
  size_t at = head.find("\r\n");
  const std::string status_line = head.substr(0, at);
  const size_t space = status_line.find(' ');
  const auto status = space == std::string::npos
                          ? std::nullopt
                          : parse_number<int>(status_line.substr(space + 1, 3));
  if (!status_line.starts_with("HTTP/1.") || !status)
    break_off("the server doesn't answer as HTTP does");
  answer_.status = *status;
  for (at += 2; at < head.size();) {
    const size_t line_end = head.find("\r\n", at);
    const std::string line = head.substr(at, line_end - at);
    const size_t colon = line.find(':');
    if (colon != std::string::npos)
      answer_.headers[lower_case(line.substr(0, colon))] =
          std::string(trimmed(std::string_view(line).substr(colon + 1)));
    at = line_end + 2;
  }
  if (answer_.status == switching_protocols) {
    reader_.feed(std::exchange(input_, {}));
    return;
  }
  // All of berth's refusals have a length.
  const size_t length =
      std::min(parse_number<size_t>(answer_.header("content-length")).value_or(0), most_of_refusal);
  try {
    while (input_.size() < length)
      if (!fill()) wait(POLLIN, deadline);
  } catch (const NoAnswer&) {
    // The status is enough.
  }
  answer_.body = input_.substr(0, length);
}

// Receives what has arrived into input_. Returns false if nothing has.
bool WebSocket::fill() {
  std::array<char, 64 * 1024> piece;
  size_t got = 0;
  const CURLcode code = curl_easy_recv(easy_.get(), piece.data(), piece.size(), &got);
  if (code == CURLE_AGAIN) return false;
  if (code != CURLE_OK || got == 0) break_off("the connection was lost");
  heard_ = Clock::now();
  input_.append(piece.data(), got);
  return true;
}

void WebSocket::wait(short events, Clock::time_point deadline) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd state{.fd = socket_, .events = events, .revents = 0};
  const int ready = left.count() <= 0 ? 0 : ::poll(&state, 1, int(left.count()));
  if (ready == 0) throw NoAnswer("the handshake took too long", NoAnswer::Why::too_slow);
  if (ready < 0 && errno != EINTR) break_off("the connection was lost");
}

std::optional<websocket::Message> WebSocket::receive() {
  using websocket::Kind;
  while (true) {
    auto message = reader_.next();
    if (!message) {
      if (!fill()) return std::nullopt;
      reader_.feed(std::exchange(input_, {}));
      continue;
    }
    if (message->kind == Kind::ping)
      send(Kind::pong, message->data);
    else if (message->kind != Kind::pong)
      return message;
  }
}

void WebSocket::send(websocket::Kind kind, std::string_view data) {
  out_ += websocket::encode(kind, data, random_bytes(websocket_frame::mask_bytes));
  flush();
}

void WebSocket::close(std::uint16_t code) {
  std::string data;
  websocket_frame::append_number(data, code, 2);
  send(websocket::Kind::close, data);
}

void WebSocket::flush() {
  while (!out_.empty()) {
    size_t sent = 0;
    const CURLcode code = curl_easy_send(easy_.get(), out_.data(), out_.size(), &sent);
    if (code == CURLE_AGAIN) return;
    if (code != CURLE_OK) break_off("the connection was lost");
    out_.erase(0, sent);
  }
}

}  // namespace berth::cli
