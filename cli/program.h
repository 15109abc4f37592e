#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/run.h"

namespace berth::cli {

// The whole tree of commands. `run` outlives it.
std::unique_ptr<CLI::App> make_program(Run& run);

// Runs what the arguments say and returns the exit code; nothing is thrown out of it.
int run_program(int argc, char** argv);

}  // namespace berth::cli
