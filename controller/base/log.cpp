#include "controller/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/base/text.h"

namespace berth::log {

constexpr auto texts_of(Level) {
  return EnumTexts<Level::error>{"debug", "info", "warning", "error"};
}

namespace {

std::atomic<Format> chosen_format{Format::json};

spdlog::level::level_enum of_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("berthd",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

nlohmann::ordered_json shortened(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() <= max_field_bytes) return value;
  return cut(text, max_field_bytes) + "…";
}

std::string printed(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string as_text(std::string_view time, Level level, std::string_view message, Fields fields) {
  std::string line(time);
  line.append(" ").append(to_string(level)).append(" ").append(message);
  for (const auto& [key, value] : fields)
    line.append(" ").append(key).append("=").append(printed(shortened(value)));
  return line;
}

std::string as_json(std::string_view time, Level level, std::string_view message, Fields fields) {
  nlohmann::ordered_json line = {{"time", time}, {"level", to_string(level)}, {"msg", message}};
  for (const auto& [key, value] : fields) line[std::string(key)] = shortened(value);
  return printed(line);
}

}  // namespace

void setup(Format format, Level least) {
  chosen_format = format;
  logger().set_level(of_spdlog(least));
}

std::optional<Level> parse_level(std::string_view text) { return parse_enum<Level>(text); }

bool enabled(Level level) { return logger().should_log(of_spdlog(level)); }

void write(Level level, std::string_view message, Fields fields) {
  if (!enabled(level)) return;
  const std::string time = to_iso8601(system_time());
  const std::string line = chosen_format == Format::json ? as_json(time, level, message, fields)
                                                         : as_text(time, level, message, fields);
  logger().log(of_spdlog(level), spdlog::string_view_t(line));
}

}  // namespace berth::log
