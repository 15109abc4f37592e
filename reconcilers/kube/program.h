#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace berth::kube {

struct Program {
  std::string command;  // a path, or a name that is looked for in PATH
  std::vector<std::string> args;
  // Added to berthd's environment; replaces entries of the same name.
  std::vector<std::pair<std::string, std::string>> env;
  std::chrono::milliseconds timeout;
  size_t max_output_bytes;
};

// Runs a program without a shell, in its own process group and with an empty stdin. Returns what it
// wrote to stdout; stderr is discarded, because it may contain secrets. The whole group is killed
// when the program ends, takes too long or writes too much, or when `stop` is requested. Throws
// std::system_error if the program can't be started, otherwise std::runtime_error with a message
// that says how it ended and quotes nothing of its output.
std::string run_program(const Program& program, const std::stop_token& stop);

}  // namespace berth::kube
