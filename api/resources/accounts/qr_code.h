#pragma once

#include <string>

namespace berth::api {

// A QR code (ISO/IEC 18004) as an SVG path in a square of `size` units, including the quiet zone of
// four modules around it.
struct QrCode {
  int size = 0;
  std::string path;  // draws the dark modules with the commands M, h, v and z
};
// Throws std::runtime_error if the text is too long for a QR code.
QrCode qr_code(const std::string& text);

}  // namespace berth::api
