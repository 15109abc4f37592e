#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

// A script for bash, zsh or fish that completes the commands of this tree, their flags, and the
// values of flags with a fixed set of values. It needs nothing but the shell and doesn't contact
// the server.
std::string completion_script(const CLI::App& root, const std::string& shell);

}  // namespace berth::cli
