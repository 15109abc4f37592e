#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/run.h"

// What the commands about one's account share.
namespace berth::cli {

void add_session_commands(CLI::App& root, Run& run);  // sessions …
void add_totp_commands(CLI::App& root, Run& run);     // totp …

// Reads a password: a line of stdin, or asked for without echo. Throws Failure `usage` if there is
// neither.
std::string password_of(bool from_stdin, const std::string& question = "Password");

}  // namespace berth::cli
