#pragma once

#include "controller/base/enum_text.h"

namespace berth::reconcilers {

// What becomes of an image whose registry doesn't say how large it is.
enum class UnknownSize { pull, refuse };
constexpr auto texts_of(UnknownSize) { return EnumTexts<UnknownSize::refuse>{"pull", "refuse"}; }

}  // namespace berth::reconcilers
