#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {

// What plain scalars become. `typed` follows the YAML 1.2 core schema (section 10.3): null,
// booleans, integers and numbers. `texts` keeps all of them except null as they were written, so
// that 1.10 and 0x1F don't change.
enum class Scalars { typed, texts };

// Returns the first document of a YAML text as JSON; null if there is none. Quoted scalars become
// strings, and so do .inf and .nan, which JSON lacks. Anchors and merge keys (`<<`) are followed.
// Throws std::runtime_error that names `source` and the line if the text isn't YAML in UTF-8, a key
// occurs twice or isn't plain text, a merged value isn't a mapping, or the document is nested more
// than 64 levels deep or has more than a million values, aliases followed.
nlohmann::json parse_yaml(std::string_view text, const std::string& source,
                          Scalars scalars = Scalars::typed);
// The number of documents in a text. Throws std::runtime_error that names `source` if the text
// isn't YAML or has more than 1,000 documents.
size_t yaml_documents(std::string_view text, const std::string& source);

}  // namespace berth
