#pragma once

#include <string>
#include <string_view>

namespace berth {

// The most characters of a program's own name and of its version that are shown.
inline constexpr size_t max_program_name = 24;
inline constexpr size_t max_program_version = 12;

// Returns a short name of the program that sent this User-Agent (RFC 9110, section 10.1.5), for the
// person who decides whether they know it: "Firefox on Linux" for a browser, "curl 8.5.0" for
// another program, "unknown" if the field names none. A program can call itself whatever it likes,
// so the result has no more than a name and a number: letters, digits, '.', '-' and '_'.
std::string program_name(std::string_view user_agent);

}  // namespace berth
