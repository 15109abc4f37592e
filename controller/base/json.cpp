// The one instantiation of nlohmann::json that cmake/precompiled.h promises to all object files.
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<>;
