#pragma once

#include <string>
#include <vector>

namespace berth::cli {

// ": did you mean NAME?" with the one of `names` that is spelt nearly like `text`; empty if there
// is none, so that it can stand behind any sentence.
std::string did_you_mean(const std::string& text, const std::vector<std::string>& names);

// The same for the name of a command, also for other programs' words for what berth's commands do,
// such as `destroy` for delete, and for a part of a name.
std::string did_you_mean_command(const std::string& word, const std::vector<std::string>& names);

}  // namespace berth::cli
