#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/berthd/config.h"

namespace berth {

// One key of the configuration.
struct Key {
  enum class Kind { plain, secret };
  enum class Effect { acts, none_yet };

  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
  // Takes the text into the struct. Throws std::invalid_argument that says what is allowed.
  void (*take)(Config&, const std::string&);
  Kind kind = Kind::plain;
  Effect effect = Effect::acts;
};

// The table. Names and defaults are relied upon: change them as you would change an API.
const std::vector<Key>& config_keys();

}  // namespace berth
