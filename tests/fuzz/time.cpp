// Times in the formats that requests contain.
#include "controller/base/clock.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

void run(std::string_view input) {
  const auto instant = parse_iso8601(input);
  if (!instant) return;
  const std::string text = to_iso8601(*instant);
  hold(text.size() == std::string_view("2026-01-31T12:00:00.000Z").size(),
       "every instant that is taken has a year of four digits");
  hold(parse_iso8601(text) == instant, "what is written is read as the same instant");
}

}  // namespace berth::fuzz
