#include "api/resources/accounts/qr_code.h"

#include <qrencode.h>

#include <memory>
#include <stdexcept>

namespace berth::api {

QrCode qr_code(const std::string& text) {
  constexpr int quiet_zone = 4;
  const std::unique_ptr<QRcode, decltype(&QRcode_free)> code(
      QRcode_encodeString8bit(text.c_str(), 0, QR_ECLEVEL_M), QRcode_free);
  if (!code) throw std::runtime_error("no QR code can be made of this text");
  QrCode result = {.size = code->width + 2 * quiet_zone, .path = {}};
  const auto is_dark = [&](int x, int y) {
    return x < code->width && (code->data[y * code->width + x] & 1) != 0;
  };
  for (int y = 0; y < code->width; ++y)
    for (int x = 0; x < code->width; ++x) {
      if (!is_dark(x, y)) continue;
      const int start = x;
      while (is_dark(x, y)) ++x;
      const std::string length = std::to_string(x - start);
      result.path += "M" + std::to_string(start + quiet_zone) + " " +
                     std::to_string(y + quiet_zone) + "h" + length + "v1h-" + length + "z";
    }
  return result;
}

}  // namespace berth::api
