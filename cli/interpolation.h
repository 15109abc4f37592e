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

// The text with its variables filled in. In braces these follow the name, where the colon makes an
// empty value count as none: `:-TEXT` and `-TEXT` stand in for a missing value, `:+TEXT` and
// `+TEXT` take the place of one that is there, `:?TEXT` and `?TEXT` are the message if it is
// missing. `look_up` is asked for each value and decides what a missing one is: what it returns, or
// what it throws. TEXT may contain variables, up to 16 levels deep. Throws Failure `usage` that
// begins with `where`.
std::string interpolated(std::string_view text, Dollars dollars, const LookUp& look_up,
                         const std::function<std::string(const std::string& name)>& missing,
                         const std::string& where);

}  // namespace berth::cli
