#include "cli/colour.h"

#include <map>

#include "cli/config.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return "1";
    case Colour::faint:
      return "2";
    case Colour::red:
      return "31";
    case Colour::green:
      return "32";
    case Colour::yellow:
      return "33";
    case Colour::cyan:
      return "36";
    case Colour::none:
      break;
  }
  return "";
}

}  // namespace

bool shows_colours(int fd) { return moves_cursor(fd) && !variable("NO_COLOR"); }

std::string painted(const std::string& text, Colour colour) {
  if (colour == Colour::none || text.empty()) return text;
  return std::string("\x1b[") + code_of(colour) + "m" + text + "\x1b[0m";
}

Colour colour_of_state(std::string_view state) {
  static const std::map<std::string_view, Colour> colours = {
      {"running", Colour::green},    {"active", Colour::green},
      {"approved", Colour::green},   {"succeeded", Colour::green},
      {"healthy", Colour::green},    {"delivered", Colour::green},
      {"ok", Colour::green},         {"pending", Colour::yellow},
      {"deploying", Colour::yellow}, {"started", Colour::yellow},
      {"paused", Colour::yellow},    {"warning", Colour::yellow},
      {"issuing", Colour::yellow},   {"errored", Colour::red},
      {"failed", Colour::red},       {"rejected", Colour::red},
      {"unhealthy", Colour::red},    {"suspended", Colour::red},
      {"stopped", Colour::faint},    {"destroyed", Colour::faint},
      {"cancelled", Colour::faint},  {"exhausted", Colour::faint},
      {"withdrawn", Colour::faint},  {"waiting_for_dns", Colour::yellow},
  };
  const auto found = colours.find(state);
  return found == colours.end() ? Colour::none : found->second;
}

}  // namespace berth::cli
