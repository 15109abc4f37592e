#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

// Variables in texts: ${NAME}, with the operators of docker compose.
namespace berth::cli {

// Whether a variable of the environment may be called so: letters, digits and '_', not beginning
// with a digit.
bool is_variable_name(std::string_view text);

// What a dollar sign means. `braces`: ${NAME} alone is a variable, and $${ stands for ${; every
// other dollar sign is itself. `compose`: as in docker compose's files of variables, $NAME is a
// variable too, $$ stands for $, and any other dollar sign is an error.
enum class Dollars { braces, compose };

using LookUp = std::function<std::optional<std::string>(const std::string& name)>;
// The value from the environment of this program; also one that is empty.
std::optional<std::string> from_environment(const std::string& name);

// Returns the text with its variables filled in. In braces, an operator may follow the name; with a
// colon, an empty value counts as missing: `:-TEXT` and `-TEXT` give the value if it is missing;
// `:+TEXT` and `+TEXT` replace a value that isn't; `:?TEXT` and `?TEXT` give the error's message if
// it is missing. `look_up` returns the value of a variable. `missing` is called for a variable that
// has neither a value nor an operator, and returns its value or throws. TEXT may contain variables,
// up to 16 levels deep. Throws Failure `usage` that begins with `where`.
std::string interpolated(std::string_view text, Dollars dollars, const LookUp& look_up,
                         const std::function<std::string(const std::string& name)>& missing,
                         const std::string& where);

}  // namespace berth::cli
