#include "cli/watch.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "cli/http.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The API allows 30 such requests a minute.
constexpr std::chrono::milliseconds between_looks{2'100};
constexpr const char* top_of_screen = "\x1b[H\x1b[J";  // moves to the top and clears what follows

void show(Format format, const json& body, const std::string& text) {
  constexpr auto replace = json::error_handler_t::replace;
  if (format == Format::as_json)
    std::cout << body.dump(-1, ' ', false, replace) << "\n";
  else if (format == Format::as_yaml)
    std::cout << "---\n" << to_yaml(body);
  else
    std::cout << (moves_cursor(STDOUT_FILENO) ? top_of_screen : "") << text;
  std::cout << std::flush;
}

}  // namespace

void watch(Format format, const std::function<json()>& look,
           const std::function<std::string(const json&)>& table) {
  std::optional<std::string> shown;
  auto answered = Clock::now();
  while (std::cout) {
    try {
      const json body = look();
      answered = Clock::now();
      const std::string text = format == Format::table ? table(body) : body.dump();
      if (text != shown) {
        if (shown && format == Format::table && !moves_cursor(STDOUT_FILENO)) std::cout << "\n";
        show(format, body, text);
      }
      shown = text;
    } catch (const Failure& failure) {
      if (failure.exit != Exit::unavailable || Clock::now() - answered > longest_absence) throw;
    }
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace berth::cli
