#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

// A script for bash, zsh or fish that completes the commands of this tree, their flags, the values
// of flags with a fixed set of values, and names that the server knows, such as those of
// deployments. For names it runs `berth __names KIND`, and offers none if that fails.
std::string completion_script(const CLI::App& root, const std::string& shell);

}  // namespace berth::cli
