#include "reconcilers/embedded/node/simulated/commands.h"

#include <algorithm>
#include <sstream>

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

using Words = std::vector<std::string>;

// A container that runs for longer than this would outlast every test.
constexpr int longest = 24 * 3600;

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns whether the commands after this one run.
bool run(const Words& words, SimulatedCommand& command) {
  if (words.empty()) return true;
  const Words rest(words.begin() + 1, words.end());
  const int number = rest.empty() ? 0 : parse_number<int>(rest.front()).value_or(0);
  if (words.front() == "exit") {
    command.exit_code = number & 255;
    return false;
  }
  if (words.front() == "sleep")
    command.seconds = std::min(longest, command.seconds + std::clamp(number, 0, longest));
  else if (words.front() == "echo")
    command.output.push_back(joined(rest, " "));
  else
    command.output.push_back("simulated command " + joined(words, " "));
  return true;
}

bool is_shell(const Words& words) {
  return words.size() == 3 && words[1] == "-c" &&
         words[0].substr(words[0].rfind('/') + 1) == "sh";  // npos + 1 is 0
}

}  // namespace

SimulatedCommand command_of(const Words& command, const Words& args) {
  Words all = command;
  all.insert(all.end(), args.begin(), args.end());
  SimulatedCommand done;
  if (!is_shell(all)) {
    run(all, done);
    return done;
  }
  std::istringstream text(all[2]);
  for (std::string one; std::getline(text, one, ';');)
    if (!run(words_of(one), done)) break;
  return done;
}

}  // namespace berth::embedded
