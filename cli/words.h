#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The words of a command line, before CLI11 reads them.
namespace berth::cli {

// The command that the words name, as far as they name one: the deepest one.
struct Named {
  CLI::App* command;
  std::string path;  // "berth deploy create"
};

// A command line as CLI11 understands it.
struct Line {
  std::vector<std::string> words;
  Named named;
};

// Finds the command that is meant, and writes `--flag=value` and `-f=value` as two words: CLI11
// would read the `=` of the second as a part of its value, and a first without a value as one whose
// value comes next. `words` doesn't include the program's name. Hides the neighbours of the command
// and of its groups from CLI11, because an argument may be called as one of them is, as in `berth
// logs list`; so the program can read just one line.
Line prepared(CLI::App& program, const std::vector<std::string>& words);

// Lets a flag or an argument be empty. Others can't be, see refuse_empty().
void may_be_empty(CLI::Option& option);
// Makes every flag and argument of the program's commands refuse a value that is empty or blank
// with Failure `usage`: it is a shell variable that nobody has set more often than a wish. Call it
// when all commands are there.
void refuse_empty(CLI::App& program);

}  // namespace berth::cli
