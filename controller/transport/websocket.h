#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "controller/transport/http.h"

// The frames and the handshake of WebSockets (RFC 6455), from the server's side and without
// extensions, so that messages aren't compressed. Nothing here reads from or writes to a socket.
namespace berth::api::websocket {

// Returns the value of Sec-WebSocket-Accept for a request that asks for a WebSocket (section
// 4.2.1): a GET over HTTP/1.1 with the fields Upgrade, Connection, Sec-WebSocket-Key and
// Sec-WebSocket-Version 13. Throws Refusal 400 if something is missing or malformed, and 426 for
// another version, which the answer should name (section 4.4). Who may ask is the caller's to
// check, the field Origin included.
std::string accept(const Request& request);

enum class Kind : std::uint8_t { text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

// A whole message, or a control frame.
struct Message {
  Kind kind;
  std::string data;        // of a close: its reason
  std::uint16_t code = 0;  // of a close: its status (section 7.4); 0 if it had none
};

// Status codes of a close (section 7.4.1).
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
inline constexpr std::uint16_t invalid_data = 1007;
inline constexpr std::uint16_t policy_violation = 1008;
inline constexpr std::uint16_t too_big = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t try_again_later = 1013;  // of the registry that the standard founds

// The client has broken a rule. The server sends a close with this code and closes the connection
// (section 7.1.7).
struct Violation : std::runtime_error {
  Violation(std::uint16_t close_code, const char* detail)
      : std::runtime_error(detail), code(close_code) {}
  std::uint16_t code;
};

// Reads a client's frames, whatever the pieces are in which they arrive. Keeps no more than one
// message and one control frame.
class Reader {
 public:
  explicit Reader(std::size_t max_message_bytes) : max_bytes_(max_message_bytes) {}

  // Calls `on_message` for what `input` completes. What comes after a close is ignored. Throws
  // Violation: protocol_error for frames that aren't masked, have reserved bits, opcodes or codes,
  // an unnecessarily long length, or come in a wrong order; invalid_data for text that isn't UTF-8;
  // too_big for a message above the limit, before its data is kept.
  void read(std::string_view input, const std::function<void(Message)>& on_message);

 private:
  struct Head {
    bool is_final = false;
    std::uint8_t opcode = 0;
    std::uint64_t left = 0;  // of the data
    std::uint8_t mask[4] = {};
  };

  bool read_head(std::string_view& input);
  void begin_frame();
  void read_data(std::string_view& input);
  void end_frame(const std::function<void(Message)>& on_message);
  bool is_control() const { return (frame_.opcode & 8) != 0; }

  const std::size_t max_bytes_;
  std::string head_bytes_;  // of a head that isn't complete
  Head frame_;
  bool in_frame_ = false;
  std::size_t unmasked_ = 0;  // how much of the frame's data has arrived
  bool in_message_ = false;
  Kind kind_ = Kind::text;  // of the message
  std::string message_;
  std::string control_;  // the data of a control frame
  bool closed_ = false;
};

// Returns a frame with a whole message, or a control frame, whose data has at most 125 bytes.
std::string encode(Kind kind, std::string_view data);
// Returns a close with a code and a reason, which has at most 123 bytes.
std::string encode_close(std::uint16_t code, std::string_view reason);

}  // namespace berth::api::websocket
