#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/http.h"
#include "controller/base/curl.h"

namespace berth::cli {

// The client's side of a WebSocket (RFC 6455): its frames, and a connection by libcurl, with the
// certificates and proxies of all of the client's requests. Not thread-safe.
namespace websocket {

enum class Kind : std::uint8_t { text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

// A whole message, or a control frame.
struct Message {
  Kind kind = Kind::binary;
  std::string data;        // of a close: its reason
  std::uint16_t code = 0;  // of a close: its status; 0 if it had none
};

// The longest message that is accepted. berth's have 64 KiB and a byte at most.
constexpr size_t most_of_message = 1024 * 1024;

// Returns a frame with a whole message, masked with these four bytes.
std::string encode(Kind kind, std::string_view data, std::string_view mask);

// Reads a server's frames, whatever the pieces are in which they arrive.
class Reader {
 public:
  void feed(std::string_view input) { input_ += input; }
  // Returns the next message that has arrived whole. Throws NoAnswer (broken) if what has arrived
  // breaks the rules of the protocol, or is too long.
  std::optional<Message> next();

 private:
  std::string input_;
  bool in_message_ = false;
  Kind kind_ = Kind::binary;
  std::string message_;
};

}  // namespace websocket

class WebSocket {
 public:
  // Connects and sends the handshake, which asks for `subprotocol` if that isn't empty. Throws
  // NoAnswer. If the server doesn't switch to WebSocket, answer() says why.
  WebSocket(const HttpRequest& request, const std::string& subprotocol);
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // The server's answer to the handshake; nothing else may be called unless its status is 101.
  const HttpResponse& answer() const { return answer_; }

  // What to wait for, with poll(2); POLLOUT as well while has_unsent().
  int descriptor() const { return socket_; }
  // Returns the next message that has arrived, pings and pongs left out; nothing if none has.
  // Throws NoAnswer if the connection is lost.
  std::optional<websocket::Message> receive();
  // Sends a message, as far as the connection takes it at once. Throws NoAnswer.
  void send(websocket::Kind kind, std::string_view data);
  void close(std::uint16_t code);
  // Sends more of what was left. Throws NoAnswer.
  void flush();
  size_t unsent() const { return out_.size(); }
  // When something last arrived.
  std::chrono::steady_clock::time_point heard() const { return heard_; }

 private:
  void connect(const HttpRequest& request);
  void shake_hands(const HttpRequest& request, const std::string& subprotocol);
  void read_answer();
  bool fill();
  void wait(short events, std::chrono::steady_clock::time_point deadline) const;

  curl::Easy easy_;
  char error_[CURL_ERROR_SIZE] = {};
  int socket_ = -1;
  HttpResponse answer_;
  std::string input_;  // of the answer to the handshake
  std::string out_;    // what couldn't be sent yet
  websocket::Reader reader_;
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
};

}  // namespace berth::cli
