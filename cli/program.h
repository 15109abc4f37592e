#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/run.h"

namespace berth::cli {

// The complete tree of commands. `run` has to outlive it.
std::unique_ptr<CLI::App> make_program(Run& run);

// Runs the command that the arguments name and returns the exit code. Never throws.
int run_program(int argc, char** argv);

}  // namespace berth::cli
