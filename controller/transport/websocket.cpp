#include "controller/transport/websocket.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "controller/base/crypto.h"
#include "controller/base/visible_text.h"
#include "controller/base/websocket_frame.h"
#include "controller/transport/request_head.h"

namespace berth::api::websocket {
namespace {

using namespace websocket_frame;

constexpr std::size_t key_bytes = 16;
constexpr std::size_t max_control_bytes = 125;

// Whether a field that is a list has this member, without regard to case.
bool has_member(const Headers& headers, std::string_view name, std::string_view wanted) {
  for (const auto& [field, value] : headers) {
    if (!same_name(field, name)) continue;
    for (std::string_view rest = value; !rest.empty();) {
      std::string_view member = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), member.size() + 1));
      while (member.starts_with(' ') || member.starts_with('\t')) member.remove_prefix(1);
      while (member.ends_with(' ') || member.ends_with('\t')) member.remove_suffix(1);
      if (same_name(member, wanted)) return true;
    }
  }
  return false;
}

// The codes that a client may send (section 7.4).
bool may_be_sent(std::uint64_t code) {
  constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 3> ranges = {
      {{1000, 1003}, {1007, 1014}, {3000, 4999}}};
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

}  // namespace

std::string accept(const Request& request) {
  const Headers& headers = request.headers;
  if (request.method != "GET" || !has_member(headers, "Upgrade", "websocket") ||
      !has_member(headers, "Connection", "Upgrade"))
    throw Refusal(400, "the request doesn't ask for a WebSocket");
  if (headers.count("Sec-WebSocket-Version") != 1 || headers.get("Sec-WebSocket-Version") != "13")
    throw Refusal(426, "only version 13 of WebSockets is spoken");
  const std::string_view key = headers.get("Sec-WebSocket-Key");
  const auto bytes = parse_base64(key);
  if (headers.count("Sec-WebSocket-Key") != 1 || !bytes || bytes->size() != key_bytes)
    throw Refusal(400, "Sec-WebSocket-Key must be 16 bytes in base64");
  return accept_of(key);
}

void Reader::read(std::string_view input, const std::function<void(Message)>& on_message) {
  while (!closed_) {
    if (!in_frame_ && !read_head(input)) break;
    read_data(input);
    if (frame_.left > 0) break;
    end_frame(on_message);
  }
}

// Returns whether a head is complete.
bool Reader::read_head(std::string_view& input) {
  constexpr std::size_t shortest = 2;
  const auto need = [&](std::size_t size) {
    const std::string_view more = input.substr(0, size - std::min(size, head_bytes_.size()));
    head_bytes_ += more;
    input.remove_prefix(more.size());
    return head_bytes_.size() >= size;
  };
  if (!need(shortest)) return false;
  const unsigned first = byte_at(head_bytes_, 0);
  const unsigned second = byte_at(head_bytes_, 1);
  if ((first & reserved_bits) != 0) throw Violation(protocol_error, "a reserved bit is set");
  if ((second & mask_bit) == 0) throw Violation(protocol_error, "a frame isn't masked");
  const unsigned announced = second & length_bits;
  const std::size_t of_length = bytes_of_length(announced);
  frame_.is_final = (first & final_bit) != 0;
  frame_.opcode = static_cast<std::uint8_t>(first & opcode_bits);
  if (is_control() && (announced > max_control_bytes || !frame_.is_final))
    throw Violation(protocol_error, "a control frame is too long or fragmented");
  if (!need(shortest + of_length + mask_bytes)) return false;
  frame_.left = of_length == 0 ? announced : number_at(head_bytes_, shortest, of_length);
  if ((of_length == 2 && frame_.left < length_of_16_bits) ||
      (of_length == 8 && (frame_.left <= 0xffff || frame_.left >> 63 != 0)))
    throw Violation(protocol_error, "a length isn't in its shortest form");
  for (std::size_t i = 0; i < mask_bytes; ++i)
    frame_.mask[i] = static_cast<std::uint8_t>(byte_at(head_bytes_, shortest + of_length + i));
  head_bytes_.clear();
  begin_frame();
  return true;
}

void Reader::begin_frame() {
  in_frame_ = true;
  unmasked_ = 0;
  switch (frame_.opcode) {
    case continuation:
      if (!in_message_) throw Violation(protocol_error, "there is no message to continue");
      break;
    case static_cast<std::uint8_t>(Kind::text):
    case static_cast<std::uint8_t>(Kind::binary):
      if (in_message_) throw Violation(protocol_error, "a message begins within another one");
      in_message_ = true;
      kind_ = static_cast<Kind>(frame_.opcode);
      break;
    case static_cast<std::uint8_t>(Kind::close):
    case static_cast<std::uint8_t>(Kind::ping):
    case static_cast<std::uint8_t>(Kind::pong):
      control_.clear();
      return;
    default:
      throw Violation(protocol_error, "an opcode is reserved");
  }
  if (frame_.left > max_bytes_ - message_.size()) throw Violation(too_big, "a message is too big");
}

void Reader::read_data(std::string_view& input) {
  const std::string_view data = input.substr(0, std::min<std::uint64_t>(frame_.left, input.size()));
  std::string& to = is_control() ? control_ : message_;
  for (const char masked : data)
    to += static_cast<char>(static_cast<unsigned char>(masked) ^
                            frame_.mask[unmasked_++ % std::size(frame_.mask)]);
  frame_.left -= data.size();
  input.remove_prefix(data.size());
}

void Reader::end_frame(const std::function<void(Message)>& on_message) {
  constexpr std::size_t of_code = 2;
  in_frame_ = false;
  if (!is_control()) {
    if (!frame_.is_final) return;
    in_message_ = false;
    if (kind_ == Kind::text && !berth::is_utf8(message_))
      throw Violation(invalid_data, "a text isn't UTF-8");
    on_message({.kind = kind_, .data = std::exchange(message_, {})});
    return;
  }
  const Kind kind = static_cast<Kind>(frame_.opcode);
  if (kind != Kind::close) {
    on_message({.kind = kind, .data = std::exchange(control_, {})});
    return;
  }
  std::uint64_t code = 0;
  if (!control_.empty()) {
    code = control_.size() < of_code ? 0 : number_at(control_, 0, of_code);
    if (!may_be_sent(code)) throw Violation(protocol_error, "a close has no valid code");
    control_.erase(0, of_code);
    if (!berth::is_utf8(control_))
      throw Violation(invalid_data, "the reason of a close isn't UTF-8");
  }
  closed_ = true;
  on_message({.kind = kind,
              .data = std::exchange(control_, {}),
              .code = static_cast<std::uint16_t>(code)});
}

std::string encode(Kind kind, std::string_view data) {
  return head(static_cast<std::uint8_t>(kind), data.size(), Masked::no).append(data);
}

std::string encode_close(std::uint16_t code, std::string_view reason) {
  std::string data;
  append_number(data, code, 2);
  return encode(Kind::close, data.append(reason));
}

}  // namespace berth::api::websocket
