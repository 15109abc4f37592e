// The only instantiation of nlohmann::json; cmake/precompiled.h declares it for all object files.
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<>;
