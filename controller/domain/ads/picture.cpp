#include "controller/domain/ads/picture.h"

#include <png.h>
#include <turbojpeg.h>

#include <array>
#include <memory>
#include <vector>

#include "controller/base/error.h"

namespace berth::ads {
namespace {

// The qualities with which a JPEG is encoded, until it is small enough.
constexpr std::array<int, 3> qualities = {85, 70, 55};
constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view jpeg_signature = "\xff\xd8\xff";

Error wrong(const std::string& why) { return invalid_field("image", why); }

Error damaged() { return wrong("is damaged or not complete"); }

void check_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) throw damaged();
  if (width > max_picture_side || height > max_picture_side || width * height > max_picture_pixels)
    throw wrong("has " + std::to_string(width) + " × " + std::to_string(height) +
                " pixels; at most " + std::to_string(max_picture_side) + " on a side and " +
                std::to_string(max_picture_pixels) + " in all are allowed");
}

struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<unsigned char> bytes = {};  // rows from the top, without gaps
  bool has_alpha = false;                 // four bytes for each pixel instead of three

  bool is_opaque() const {
    constexpr std::size_t step = 4;
    for (std::size_t i = step - 1; i < bytes.size(); i += step)
      if (bytes[i] != 0xff) return false;
    return true;
  }
  void drop_alpha() {
    std::size_t to = 0;
    for (std::size_t from = 0; from < bytes.size(); ++from)
      if (from % 4 != 3) bytes[to++] = bytes[from];
    bytes.resize(to);
    has_alpha = false;
  }
};

// libpng's simplified interface, which reads any PNG as 8 bits in sRGB and ignores what isn't the
// picture.
class Png {
 public:
  Png() { image_.version = PNG_IMAGE_VERSION; }
  ~Png() { png_image_free(&image_); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  Pixels decode(std::string_view file) {
    if (png_image_begin_read_from_memory(&image_, file.data(), file.size()) == 0) throw damaged();
    check_size(image_.width, image_.height);
    Pixels pixels = {.width = int(image_.width), .height = int(image_.height)};
    image_.format = PNG_FORMAT_RGBA;
    pixels.has_alpha = true;
    pixels.bytes.resize(PNG_IMAGE_SIZE(image_));
    // libpng warns of wrong colour profiles, which many files have; missing pixels are an error.
    if (png_image_finish_read(&image_, nullptr, pixels.bytes.data(), 0, nullptr) == 0)
      throw damaged();
    if (pixels.is_opaque()) pixels.drop_alpha();
    return pixels;
  }

  std::string encode(const Pixels& pixels) {
    image_.width = png_uint_32(pixels.width);
    image_.height = png_uint_32(pixels.height);
    image_.format = pixels.has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image_);
    std::string content(size, '\0');
    if (png_image_write_to_memory(&image_, content.data(), &size, 0, pixels.bytes.data(), 0,
                                  nullptr) == 0)
      throw std::runtime_error(std::string("libpng: ") + image_.message);
    content.resize(size);
    return content;
  }

 private:
  png_image image_ = {};
};

class Jpeg {
 public:
  explicit Jpeg(tjhandle handle) : handle_(handle) {
    if (handle == nullptr) throw std::runtime_error(tjGetErrorStr2(nullptr));
  }
  ~Jpeg() { tjDestroy(handle_); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  // Refuses what libjpeg-turbo warns of, such as a file that ends early, and more scans than a
  // picture needs, each of which would take as long as the whole.
  Pixels decode(std::string_view file) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
    int subsampling = 0, colours = 0;
    Pixels pixels;
    if (tjDecompressHeader3(handle_, bytes, file.size(), &pixels.width, &pixels.height,
                            &subsampling, &colours) != 0)
      throw damaged();
    check_size(pixels.width, pixels.height);
    if (colours == TJCS_CMYK || colours == TJCS_YCCK)
      throw wrong("has print colours (CMYK); save it as RGB");
    pixels.bytes.resize(std::size_t(pixels.width) * std::size_t(pixels.height) * 3);
    if (tjDecompress2(handle_, bytes, file.size(), pixels.bytes.data(), pixels.width, 0,
                      pixels.height, TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
      throw damaged();
    return pixels;
  }

  std::string encode(const Pixels& pixels, int quality) {
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    const int result =
        tjCompress2(handle_, pixels.bytes.data(), pixels.width, 0, pixels.height, TJPF_RGB, &bytes,
                    &size, TJSAMP_420, quality, TJFLAG_PROGRESSIVE);
    const std::unique_ptr<unsigned char, decltype(&tjFree)> owner(bytes, tjFree);
    if (result != 0)
      throw std::runtime_error(std::string("libjpeg-turbo: ") + tjGetErrorStr2(handle_));
    return {reinterpret_cast<const char*>(bytes), size};
  }

 private:
  const tjhandle handle_;
};

Picture as_jpeg(const Pixels& pixels) {
  Jpeg jpeg(tjInitCompress());
  Picture picture = {.type = PictureType::jpeg, .width = pixels.width, .height = pixels.height};
  for (const int quality : qualities) {
    picture.content = jpeg.encode(pixels, quality);
    if (picture.content.size() <= max_picture_bytes) break;
  }
  return picture;
}

// The chunk acTL, which comes before the pixels, makes a PNG an animation (PNG 3, section 11.3.6).
bool is_animated(std::string_view png) {
  return png.substr(0, png.find("IDAT")).find("acTL") != std::string_view::npos;
}

std::string kilobytes(std::size_t bytes) { return std::to_string((bytes + 999) / 1'000) + " kB"; }

Picture with_size_checked(Picture picture) {
  if (picture.content.size() <= max_picture_bytes) return picture;
  throw wrong("takes " + kilobytes(picture.content.size()) + " as " +
              std::string(to_string(picture.type)) + "; at most " + kilobytes(max_picture_bytes) +
              " are allowed. Make it smaller, or send a picture without transparency");
}

}  // namespace

Picture encoded_anew(std::string_view file) {
  if (file.size() > max_uploaded_bytes)
    throw wrong("has " + kilobytes(file.size()) + "; at most " + kilobytes(max_uploaded_bytes) +
                " are allowed");
  if (file.starts_with(jpeg_signature))
    return with_size_checked(as_jpeg(Jpeg(tjInitDecompress()).decode(file)));
  if (!file.starts_with(png_signature)) throw wrong("must be a PNG or a JPEG");
  if (is_animated(file)) throw wrong("must not be animated");
  const Pixels pixels = Png().decode(file);
  Picture picture = {.type = PictureType::png,
                     .width = pixels.width,
                     .height = pixels.height,
                     .content = Png().encode(pixels)};
  if (picture.content.size() > max_picture_bytes && !pixels.has_alpha) picture = as_jpeg(pixels);
  return with_size_checked(std::move(picture));
}

Picture PictureWork::encode(std::string_view file, std::chrono::milliseconds patience) {
  Shares::Claim claim(shares_, Claimant::of_thread());
  if (!claim.wait(std::chrono::steady_clock::now() + patience))
    throw Error(Code::unavailable, "too many pictures at the same time; try again shortly");
  return encoded_anew(file);
}

}  // namespace berth::ads
