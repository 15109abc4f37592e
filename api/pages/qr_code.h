#pragma once

#include <string>

namespace berth::api::pages {

// A QR code (ISO/IEC 18004) for an SVG path in a square of `size` units, with the quiet zone of
// four modules around it.
struct QrCode {
  int size = 0;
  std::string path;  // of the dark modules: M, h, v and z with numbers
};
// Throws std::runtime_error where the text is too long for one.
QrCode qr_code(const std::string& text);

}  // namespace berth::api::pages
