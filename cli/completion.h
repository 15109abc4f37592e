#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

// A script for bash, zsh or fish that completes the commands of this tree, their flags and the
// values of those that have a fixed set. Needs nothing but the shell; asks no server.
std::string completion_script(const CLI::App& root, const std::string& shell);

}  // namespace berth::cli
