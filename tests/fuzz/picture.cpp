// Pictures that operators upload.
#include "controller/domain/ads/picture.h"

#include "controller/base/error.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

void run(std::string_view input) {
  try {
    const ads::Picture picture = ads::encoded_anew(input);
    hold(picture.content.size() <= ads::max_picture_bytes, "what is kept is small");
    hold(picture.width <= ads::max_picture_side && picture.height <= ads::max_picture_side,
         "what is kept has few pixels");
    const ads::Picture again = ads::encoded_anew(picture.content);
    hold(again.width == picture.width && again.height == picture.height,
         "what was encoded is decoded with the same size");
  } catch (const Error& refusal) {
    hold(refusal.code == Code::validation_failed, "a bad picture is the caller's mistake");
  }
}

}  // namespace berth::fuzz
