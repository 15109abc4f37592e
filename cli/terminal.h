#pragma once

#include <string>

// Talks to the person at the terminal, if there is one.
namespace berth::cli {

bool is_interactive();  // stdin and stderr are terminals
bool takes_utf8();      // according to LC_ALL, LC_CTYPE and LANG

// Asks a question on stderr. If nobody can be asked, throws Failure `usage` with `otherwise` as
// advice.
std::string ask(const std::string& question, const std::string& otherwise);
std::string ask_secret(const std::string& question, const std::string& otherwise);  // without echo
// Asks whether to continue, unless `yes` answers in advance. Throws Failure if the answer is no,
// and Failure `usage` if nobody can be asked.
void confirm(const std::string& question, bool yes);

// The first line of stdin. Throws Failure `usage` if there is none; `what` names it in the message.
std::string secret_from_stdin(const std::string& what);

}  // namespace berth::cli
