#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What both sides of a WebSocket (RFC 6455) need: the handshake's proof, and the first bytes of a
// frame. controller/transport/websocket.h is the server's side, cli/websocket.h the client's.
namespace berth::websocket_frame {

// The bits of a frame's first two bytes, and what announces longer lengths (section 5.2).
inline constexpr unsigned final_bit = 0x80;
inline constexpr unsigned reserved_bits = 0x70;
inline constexpr unsigned opcode_bits = 0x0f;
inline constexpr unsigned mask_bit = 0x80;
inline constexpr unsigned length_bits = 0x7f;
inline constexpr unsigned length_of_16_bits = 126;
inline constexpr unsigned length_of_64_bits = 127;
inline constexpr std::uint8_t continuation = 0;
inline constexpr std::size_t mask_bytes = 4;

inline unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}
// Numbers of so many bytes in network byte order.
std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t bytes);
void append_number(std::string& text, std::uint64_t number, std::size_t bytes);
// How many bytes the length has behind the first two, by what those announce.
constexpr std::size_t bytes_of_length(unsigned announced) {
  return announced == length_of_16_bits ? 2 : announced == length_of_64_bits ? 8 : 0;
}

enum class Masked { no, yes };
// Returns the beginning of the only frame of a message with so many bytes, without the mask.
std::string head(std::uint8_t opcode, std::size_t bytes, Masked masked);

// The value of Sec-WebSocket-Accept that belongs to a key (section 4.2.2).
std::string accept_of(std::string_view key);

}  // namespace berth::websocket_frame
