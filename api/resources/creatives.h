#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/domain/ads/creatives.h"

namespace berth::api {

// Returns what an app that shows the ad needs of a creative: its texts, and where its picture is.
nlohmann::json shown_creative(const creatives::Creative& creative, const std::string& base_url);

}  // namespace berth::api
