#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {

// What plain scalars become: by the YAML 1.2 core schema (section 10.3) null, booleans, integers
// and numbers; or, but for null, the texts that they were written as: 1.10 and 0x1F stay what they
// are.
enum class Scalars { typed, texts };

// The first document of a YAML text as JSON; null where there is none. Quoted scalars stay strings,
// and so do .inf and .nan, which JSON lacks. Anchors and merge keys (`<<`) are followed. Throws
// std::runtime_error that names `source` and the line: where it isn't YAML, a key is there twice,
// or aliases make it endless.
nlohmann::json parse_yaml(std::string_view text, const std::string& source,
                          Scalars scalars = Scalars::typed);
// How many documents there are. Throws likewise.
size_t yaml_documents(std::string_view text, const std::string& source);

}  // namespace berth
