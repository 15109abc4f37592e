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

// Makes a call that the server may refuse without a proof that the person is present: the password
// is then added to its body. It is read from stdin at once if `password_stdin`, and otherwise asked
// for if the server wants it and somebody can be asked. Throws Failure.
json call_with_proof(Run& run, Call call, bool password_stdin);

}  // namespace berth::cli
