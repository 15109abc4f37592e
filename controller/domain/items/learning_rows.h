#pragma once

#include <string>

#include "controller/domain/items/learning.h"

// The columns of a module. Private to the files that implement learning.h.
namespace berth::learning {

inline const std::string module_columns =
    "m.id, m.number, m.title, m.description, m.total, m.min_seconds, m.points, "
    "m.repeat_after_seconds, m.active ";
inline constexpr int after_module = 9;
Module module_of(const db::Query& row);  // the row's first columns must be module_columns

}  // namespace berth::learning
