#include "controller/base/websocket_frame.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::websocket_frame {

std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | byte_at(text, at + i);
  return number;
}

void append_number(std::string& text, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = bytes; i > 0; --i) text += static_cast<char>(number >> (8 * (i - 1)) & 0xff);
}

std::string head(std::uint8_t opcode, std::size_t bytes, Masked masked) {
  constexpr std::size_t most_of_16_bits = 0xffff;
  const unsigned mask = masked == Masked::yes ? mask_bit : 0;
  std::string head;
  append_number(head, final_bit | opcode, 1);
  if (bytes < length_of_16_bits) {
    append_number(head, mask | bytes, 1);
  } else {
    const unsigned announced = bytes <= most_of_16_bits ? length_of_16_bits : length_of_64_bits;
    append_number(head, mask | announced, 1);
    append_number(head, bytes, bytes_of_length(announced));
  }
  return head;
}

std::string accept_of(std::string_view key) {
  constexpr std::string_view salt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // section 1.3
  const std::string text = std::string(key).append(salt);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
    throw std::runtime_error("SHA-1 isn't available");
  return base64({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace berth::websocket_frame
