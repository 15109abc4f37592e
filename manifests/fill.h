#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace berth::manifests {

using Values = std::map<std::string, nlohmann::json>;

// Returns `tree` with each placeholder `$(name)` replaced by `values[name]`. If a text consists of
// nothing but a placeholder, it becomes the value with the value's type; if that is null, the entry
// that contains the placeholder is left out. Inside a longer text the value has to be a text or a
// whole number. Placeholders in values aren't replaced, and keys contain none. Throws
// std::logic_error, with `source` in its message, if a placeholder has no value or a value has no
// placeholder, since the files and the code that fills them in then disagree.
nlohmann::json fill_in(const nlohmann::json& tree, const Values& values, const std::string& source);

}  // namespace berth::manifests
