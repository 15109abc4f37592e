#pragma once

#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Files of pictures, good ones and bad ones.
namespace berth::test {

struct Sizes {
  int width = 6;
  int height = 4;
};
enum class Filled { plain, transparent, noise };

// The pixels of a picture: four bytes each, or three without alpha.
inline std::vector<unsigned char> pixels(Sizes sizes, Filled filled, std::size_t depth) {
  std::vector<unsigned char> bytes(std::size_t(sizes.width) * std::size_t(sizes.height) * depth,
                                   0xff);
  std::uint32_t state = 1;
  if (filled == Filled::noise)
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      state = state * 1'664'525U + 1'013'904'223U;
      if (depth == 3 || i % depth != 3) bytes[i] = static_cast<unsigned char>(state >> 24);
    }
  if (filled == Filled::transparent && depth == 4) bytes[3] = 0x40;
  return bytes;
}

inline std::string png(Sizes sizes = {}, Filled filled = Filled::plain) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(sizes.width);
  image.height = png_uint_32(sizes.height);
  image.format = PNG_FORMAT_RGBA;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels(sizes, filled, 4).data(), 0,
                            nullptr);
  file.resize(size);
  return file;
}

inline std::string jpeg(Sizes sizes = {}, Filled filled = Filled::plain, int quality = 90,
                        TJPF format = TJPF_RGB) {
  const tjhandle handle = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const std::size_t depth = format == TJPF_RGB ? 3 : 4;
  tjCompress2(handle, pixels(sizes, filled, depth).data(), sizes.width, 0, sizes.height, format,
              &bytes, &size, TJSAMP_420, quality, 0);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(handle);
  return file;
}

inline std::string big_endian(std::uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

// A chunk of a PNG (PNG 3, section 5.3).
inline std::string chunk(const std::string& type_and_data) {
  std::uint32_t crc = ~0U;
  for (const unsigned char byte : type_and_data) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0xedb88320U : 0U);
  }
  return big_endian(std::uint32_t(type_and_data.size() - 4)) + type_and_data + big_endian(~crc);
}

constexpr std::size_t after_header = 33;  // of a PNG: the signature and the chunk IHDR

inline std::string with_chunk(const std::string& file, const std::string& type_and_data) {
  return file.substr(0, after_header) + chunk(type_and_data) + file.substr(after_header);
}

// A small file whose header says that the picture has this size.
inline std::string png_that_claims(std::uint32_t width, std::uint32_t height) {
  const std::string file = png();
  return file.substr(0, 8) +
         chunk("IHDR" + big_endian(width) + big_endian(height) + file.substr(24, 5)) +
         file.substr(after_header);
}

inline std::string jpeg_that_claims(std::uint16_t width, std::uint16_t height) {
  std::string file = jpeg();
  const std::size_t frame = file.find("\xff\xc0");  // SOF0 (T.81, section B.2.2)
  file.replace(frame + 5, 4, {char(height >> 8), char(height), char(width >> 8), char(width)});
  return file;
}

}  // namespace berth::test
