#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace berth::manifests {

using Values = std::map<std::string, nlohmann::json>;

// `tree` with each placeholder `$(name)` replaced by `values[name]`. A text that is nothing but a
// placeholder becomes the value, with its type; where that is null, the entry that holds it is left
// out. Within a longer text the value has to be a text or a whole number. Values are never looked
// through for placeholders, and keys hold none. Throws std::logic_error, naming `source`, for a
// placeholder without a value and for a value without a placeholder: the files and the code that
// fills them disagree.
nlohmann::json fill_in(const nlohmann::json& tree, const Values& values, const std::string& source);

}  // namespace berth::manifests
