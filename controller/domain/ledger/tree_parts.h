#pragma once

#include <string>
#include <vector>

#include "controller/domain/ledger/closed_days.h"

// The text in which ledger_day_trees has the parts of a day's tree. Private to the module.
namespace berth::ledger {

std::string text_of_parts(const std::vector<TreePart>& parts);
// Throws std::invalid_argument if the text isn't one of text_of_parts().
std::vector<TreePart> parts_of_text(const std::string& text);

}  // namespace berth::ledger
