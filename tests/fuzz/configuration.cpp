// Values of berthd's configuration: the first line is the key, the rest its value.
#include <algorithm>

#include "berthd/config_keys.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

void run(std::string_view input) {
  const std::string_view name = take_line(input);
  const auto key = std::ranges::find(config_keys(), name, &Key::name);
  if (key == config_keys().end()) return;
  Config config;
  try {
    key->take(config, std::string(input));
  } catch (const std::invalid_argument& refusal) {
    hold(std::string_view(refusal.what()).size() > 0, "a refusal says what is allowed");
    return;
  }
  constexpr Duration ten_years = std::chrono::days(3'650);
  for (const Duration value :
       {config.session_lifetime, config.refresh_reuse_grace, config.refresh_family_lifetime,
        config.secret_grace, config.request_timeout})
    hold(value >= Duration::zero() && value <= ten_years, "durations are from 0 to ten years");
}

}  // namespace berth::fuzz
