#pragma once

#include "controller/base/enum_text.h"

namespace berth::ads {

// The types of ads. Each has a rate of its own (market.h).
enum class SurfaceType { banner, video, interstitial, native, rewarded };
constexpr auto texts_of(SurfaceType) {
  return EnumTexts<SurfaceType::rewarded>{"banner", "video", "interstitial", "native", "rewarded"};
}

}  // namespace berth::ads
