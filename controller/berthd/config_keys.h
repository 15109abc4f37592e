#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/berthd/config.h"

namespace berth {

// A key of the configuration.
struct Key {
  enum class Kind { plain, secret };
  enum class Effect { acts, none_yet };

  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
  // Parses the text and sets the member of Config. Throws std::invalid_argument that says what is
  // allowed.
  void (*take)(Config&, const std::string&);
  Kind kind = Kind::plain;
  Effect effect = Effect::acts;
};

// Returns the table of all keys. Installations rely on names and defaults, so changing one is like
// changing an API.
const std::vector<Key>& config_keys();

// For what takes a key's text. Throws std::invalid_argument; `allowed` ends the sentence "… has to
// be".
[[noreturn]] void want(const std::string& allowed);
// The value of a key that holds YAML.
nlohmann::json structured_value(const std::string& text);
// The value of the key `tiers` (config_tiers.cpp).
void take_tiers(Config& config, const std::string& text);

}  // namespace berth
