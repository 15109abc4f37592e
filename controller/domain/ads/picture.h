#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/base/enum_text.h"
#include "controller/base/shares.h"

// Pictures that operators upload, and that berth then serves to players. Nothing of the uploaded
// file is kept but its pixels: it is decoded and encoded anew, by libpng and libjpeg-turbo, so that
// metadata, other content behind the picture, and files that only look like one never reach a
// browser.
namespace berth::ads {

enum class PictureType { png, jpeg };
constexpr auto texts_of(PictureType) {
  return EnumTexts<PictureType::jpeg>{"image/png", "image/jpeg"};
}

// Of the uploaded file. In base64 it fits the largest body of a request.
inline constexpr std::size_t max_uploaded_bytes = 500'000;
// Of the picture that is kept. Ten of them fit what an account may store for its ads on a day.
inline constexpr std::size_t max_picture_bytes = 200'000;
// Pixels. A phone's full screen, 1080 × 1920, is allowed; four bytes of each are decoded at a time.
inline constexpr int max_picture_side = 2'048;
inline constexpr std::int64_t max_picture_pixels = 2'100'000;

struct Picture {
  PictureType type = {};
  int width = 0;
  int height = 0;
  std::string content = {};  // a complete file
};

// Decodes the file, and returns the picture encoded anew, as the type that it had. A PNG that would
// be too large and has no transparent pixel becomes a JPEG. Throws validation_failed for the field
// `image`: if the file isn't a whole PNG or JPEG, is animated, has more bytes or pixels than is
// allowed, or if the result is too large. The size is read before anything is decoded, so memory
// stays below some 40 MB. Takes up to half a second.
Picture encoded_anew(std::string_view file);

// Lets few pictures be decoded at a time, because each takes a processor and memory. Thread-safe.
class PictureWork {
 public:
  // Calls encoded_anew() once a place is free. Throws what that throws, and `unavailable` if no
  // place becomes free in `patience`.
  Picture encode(std::string_view file, std::chrono::milliseconds patience = default_patience);

  static constexpr std::size_t places = 2;
  static constexpr std::chrono::seconds default_patience{10};

 private:
  Shares shares_{Pool::pictures, places};
};

}  // namespace berth::ads
