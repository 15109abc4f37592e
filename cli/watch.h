#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/output.h"

namespace berth::cli {

// Calls `look` every few seconds and shows what it returns when that has changed, until the program
// is interrupted or stdout is closed. On a terminal the table is drawn in the same place; elsewhere
// each table comes behind the one before. In JSON each state is one line, in YAML a document.
// `look` may fail for two minutes because the server doesn't answer; other failures are thrown.
void watch(Format format, const std::function<json()>& look,
           const std::function<std::string(const json&)>& table);

}  // namespace berth::cli
