#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::log {

enum class Level { debug, info, warning, error };
enum class Format { json, text };

// A named value of a line. Never a secret, a token, a password or an env_vars value.
using Field = std::pair<std::string_view, nlohmann::ordered_json>;
using Fields = std::initializer_list<Field>;

// Lines go to stderr, one JSON object each: time, level, msg, then the fields in their order.
// Call setup once, before other threads log; without it, info lines are written as JSON.
void setup(Format format, Level least);
std::optional<Level> parse_level(std::string_view text);
bool enabled(Level level);

void write(Level level, std::string_view message, Fields fields = {});
inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::debug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::info, message, fields);
}
inline void warning(std::string_view message, Fields fields = {}) {
  write(Level::warning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::error, message, fields);
}

}  // namespace berth::log
