#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

// Variables for a container, as they are typed or stand in a file.
namespace berth::cli {

using nlohmann::json;

// The help texts of `--env-file` and `--env`.
constexpr const char* env_file_help =
    "File of variables, as docker compose reads it; - reads stdin";
constexpr const char* env_help =
    "Variable: KEY=VALUE, KEY=@FILE to use what a file holds, or KEY to use the value from your "
    "environment; may be repeated";

// Parses KEY=VALUE; KEY alone, whose value is taken from the environment; and KEY=@FILE, whose
// value is what the file holds, without a line end at its end (KEY=@- reads stdin). So no secret
// has to be part of a command line. KEY=@@TEXT stands for a value that begins with an @. Throws
// Failure `usage`.
std::pair<std::string, std::string> parse_env(const std::string& text);

// Parses a file of variables in the dialect of docker compose (docs.docker.com, "Syntax for
// environment files"): KEY=VALUE or KEY: VALUE, also behind `export` and blanks; comments behind #
// at the start of a line or behind a blank; values in single quotes, which are literal, or in
// double quotes with the escapes of a shell; both may have several lines. Variables in other values
// and in those with double quotes are filled in from the environment or, if it has none, from the
// lines before; one that is missing counts as empty, and `warn` is called with a sentence about it.
// KEY alone takes the value from the environment. Throws Failure `usage`, which names the line.
json parse_env_file(const std::string& text, const std::string& source,
                    const std::function<void(const std::string&)>& warn = {});

// What the file holds; "-" is standard input. Throws Failure `usage` if there is none.
std::string contents_of(const std::string& file);

}  // namespace berth::cli
