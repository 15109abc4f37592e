// How events are written to a stream, and how the ids that clients send back are read. This is a
// file of its own so that the fuzzer can be linked without the streams.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/gate/event_stream.h"
#include "controller/base/error.h"
#include "controller/base/text.h"

namespace berth::api {
namespace {

void append_data(std::string& text, std::string_view data) {
  while (true) {
    const std::size_t end = std::min(data.find_first_of("\r\n"), data.size());
    text.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == data.size()) return;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
}

}  // namespace

std::string encode_event(const Event& event) {
  std::string text;
  text.reserve(event.data.size() + event.id.size() + event.name.size() + 32);
  if (!event.id.empty()) text.append("id: ").append(event.id).append("\n");
  if (!event.name.empty()) text.append("event: ").append(event.name).append("\n");
  append_data(text, event.data);
  text += '\n';
  return text;
}

std::string encode_event(std::string_view name, const nlohmann::json& data) {
  return encode_event(
      {.id = "",
       .name = std::string(name),
       .data = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

std::string encode_heartbeat() { return ":\n\n"; }

std::string encode_retry(std::chrono::milliseconds wait) {
  return "retry: " + std::to_string(wait.count()) + "\n\n";
}

std::string encode_position(std::string_view id) {
  if (id.empty() || id.starts_with('-')) return "";
  return "id: " + std::string(id) + "\n\n";
}

std::optional<std::string> last_event_id(const Request& request) {
  const std::string_view id = request.headers.get("Last-Event-ID");
  if (id.empty()) return std::nullopt;
  const bool plain = std::ranges::all_of(id, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (id.size() > max_event_id_bytes || !plain || request.headers.count("Last-Event-ID") > 1)
    throw Error(Code::malformed_request, "Last-Event-ID isn't the id of an event of this stream");
  return std::string(id);
}

std::optional<std::int64_t> last_event_number(const Request& request) {
  const auto id = last_event_id(request);
  if (!id) return std::nullopt;
  const auto number = parse_number<std::int64_t>(*id);
  if (!number || *number < 0)
    throw Error(Code::malformed_request, "Last-Event-ID isn't the id of an event of this stream");
  return number;
}

}  // namespace berth::api
