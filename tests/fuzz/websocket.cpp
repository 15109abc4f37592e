// A client's frames of a WebSocket, as they come over a connection.
#include "controller/transport/websocket.h"

#include <string>

#include "controller/base/visible_text.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

using namespace api::websocket;

constexpr std::size_t most_bytes = 4096;

// What the frames mean, and the code of a violation at the end.
std::string read_in_pieces(std::string_view input, std::size_t step) {
  Reader reader(most_bytes);
  std::string all;
  try {
    for (; !input.empty(); input.remove_prefix(std::min(step, input.size())))
      reader.read(input.substr(0, step), [&](const Message& message) {
        const bool is_control = message.kind >= Kind::close;
        hold(message.data.size() <= (is_control ? 125 : most_bytes), "messages have a limit");
        if (message.kind == Kind::text || message.kind == Kind::close)
          hold(is_utf8(message.data), "texts are UTF-8");
        all += std::to_string(int(message.kind)) + " " + std::to_string(message.code) + " " +
               message.data + "\n";
      });
  } catch (const Violation& violation) {
    hold(violation.code == protocol_error || violation.code == invalid_data ||
             violation.code == too_big,
         "a violation has one of these codes");
    all += std::to_string(violation.code);
  }
  return all;
}

}  // namespace

void run(std::string_view input) {
  const std::string whole = read_in_pieces(input, input.size() + 1);
  for (const std::size_t step : {std::size_t(1), std::size_t(5), std::size_t(64)})
    hold(read_in_pieces(input, step) == whole, "frames mean the same in whatever pieces they come");
}

}  // namespace berth::fuzz
