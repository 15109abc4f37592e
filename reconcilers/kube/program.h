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
  std::vector<std::pair<std::string, std::string>> env;  // added to ours, or instead of it
  std::chrono::milliseconds timeout;
  size_t max_output_bytes;
};

// Runs it without a shell, in a process group of its own, with nothing on stdin, and returns what
// it wrote to stdout; stderr is dropped, since nobody knows what secrets it holds. The whole group
// is killed when the program ends, takes too long, writes too much, or `stop` is requested. Throws
// std::system_error where it can't be started, else std::runtime_error that says how it ended and
// holds nothing of what it wrote.
std::string run_program(const Program& program, const std::stop_token& stop);

}  // namespace berth::kube
