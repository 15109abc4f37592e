#pragma once

#include <string>

#include "controller/domain/items/learning.h"

// The columns of `learning_modules m`. Private to the files that implement learning.h.
namespace berth::learning {

inline const std::string module_columns = R"(
             m.id, m.number, m.title, m.description, m.total, m.min_seconds, m.points,
             m.repeat_after_seconds, m.active)";
Module module_of(const db::Query& row);  // the row must have module_columns

}  // namespace berth::learning
