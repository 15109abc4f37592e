// The ids with which streams of events are resumed, and the text of events.
#include "api/gate/event_stream.h"
#include "controller/base/error.h"
#include "controller/transport/request_head.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

void look_at_id(std::string_view value) {
  if (!api::is_field_value(value)) return;
  api::Request request;
  request.headers.add("Last-Event-ID", value);
  try {
    const auto id = api::last_event_id(request);
    hold(id.has_value() != value.empty(), "an id that is there is taken or refused");
    if (id) hold(*id == value && id->size() <= api::max_event_id_bytes, "an id is taken as it is");
    if (const auto number = api::last_event_number(request))
      hold(*number >= 0, "numbers of rows count from 1, and 0 is before them");
  } catch (const Error& error) {
    hold(error.code == Code::malformed_request, "another id is malformed_request");
  }
}

// Checks that no data can end an event or begin another field.
void look_at_event(std::string_view data) {
  const std::string text =
      api::encode_event({.id = "7", .name = "message", .data = std::string(data)});
  hold(text.find('\r') == text.npos && text.ends_with("\n\n"), "an event ends with an empty line");
  std::string_view rest(text);
  rest.remove_suffix(1);
  hold(take_line(rest) == "id: 7" && take_line(rest) == "event: message",
       "an event has its id and name");
  while (!rest.empty()) hold(take_line(rest).starts_with("data: "), "all other lines are data");
}

}  // namespace

void run(std::string_view input) {
  look_at_id(input);
  look_at_event(input);
}

}  // namespace berth::fuzz
