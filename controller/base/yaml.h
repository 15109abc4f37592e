#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {

// What plain scalars become. `typed` follows the YAML 1.2 core schema (section 10.3): null,
// booleans, integers and numbers. `texts` keeps all of them except null as they were written, so
// that 1.10 and 0x1F don't change.
enum class Scalars { typed, texts };

// The first document of a YAML text as JSON; null where there is none. Quoted scalars stay strings,
// and so do .inf and .nan, which JSON lacks. Anchors and merge keys (`<<`) are followed. Throws
// std::runtime_error that names `source` and the line: where it isn't YAML, a key is there twice
// or isn't a plain text, what is merged is no mapping, or aliases make it endless.
nlohmann::json parse_yaml(std::string_view text, const std::string& source,
                          Scalars scalars = Scalars::typed);
// The number of documents in a text. Throws like parse_yaml().
size_t yaml_documents(std::string_view text, const std::string& source);

}  // namespace berth
