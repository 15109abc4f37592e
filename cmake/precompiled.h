#pragma once

// The headers that most source files include. berth's own headers are not among them, because each
// change of one would compile everything anew.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// Compiled once, in controller/base/json.cpp, instead of in each object file that touches JSON.
extern template class nlohmann::basic_json<>;
