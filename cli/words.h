#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The words of a command line, before CLI11 reads them.
namespace berth::cli {

// The deepest command that the words name.
struct Named {
  CLI::App* command;
  std::string path;  // "berth deploy create"
};

// A command line as CLI11 understands it.
struct Line {
  std::vector<std::string> words;
  Named named;
};

// Finds the command that is meant, and splits `--flag=value` and `-f=value` into two words: CLI11
// would make the `=` of `-f=value` a part of the value, and would read `--flag=` as a flag whose
// value is the next word. `words` doesn't include the program's name. Hides the siblings of the
// command and of its groups from CLI11, because an argument may have the name of one, as in `berth
// logs list`; so the program can read just one line.
Line prepared(CLI::App& program, const std::vector<std::string>& words);

// Lets a flag or an argument be empty. Others can't be, see refuse_empty().
void may_be_empty(CLI::Option& option);
// Makes every flag and argument of the program's commands refuse a value that is empty or blank
// with Failure `usage`, because that is usually a shell variable that isn't set. Call it when all
// commands were added.
void refuse_empty(CLI::App& program);

}  // namespace berth::cli
