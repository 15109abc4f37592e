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

// The greatest length of a text in a line. Longer ones are cut, so that nobody can fill the disk
// with what they send.
inline constexpr size_t max_field_bytes = 4'096;

// A named value in a line. It must never contain a secret, a token, a password or the value of a
// variable (env_vars).
using Field = std::pair<std::string_view, nlohmann::ordered_json>;
using Fields = std::initializer_list<Field>;

// Log lines go to stderr. In the json format each is a JSON object: time, level, msg, then the
// fields in order. Call setup() once, before other threads log; until then, lines of level info and
// above are written as JSON.
void setup(Format format, Level least);
std::optional<Level> parse_level(std::string_view text);
bool enabled(Level level);

// Writes a line if its level is enabled. Thread-safe.
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
