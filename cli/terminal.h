#pragma once

#include <string>

// The person at the terminal, if there is one.
namespace berth::cli {

bool is_interactive();  // stdin and stderr are a terminal
bool takes_utf8();      // by LC_ALL, LC_CTYPE, LANG

// Asks on stderr. Throws Failure usage with `otherwise` as advice where nobody is there.
std::string ask(const std::string& question, const std::string& otherwise);
std::string ask_secret(const std::string& question, const std::string& otherwise);  // no echo
// Whether to go on; `yes` answers in advance. Throws Failure usage where nobody can be asked.
void confirm(const std::string& question, bool yes);

// The first line of stdin. Throws Failure usage where there is none; `what` is for the message.
std::string secret_from_stdin(const std::string& what);

}  // namespace berth::cli
