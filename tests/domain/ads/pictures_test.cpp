// Pictures that operators upload: what is kept of them, and which are refused.
#include "tests/domain/ads/pictures.h"

#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <thread>

#include "controller/domain/ads/picture.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::ads;
using namespace berth::test;
using namespace std::string_literals;

std::string why_refused(const std::string& file) {
  const Details reasons = details([&] { encoded_anew(file); });
  return reasons.contains("image") ? reasons.at("image").front() : "";
}

TEST_CASE("pictures keep their type, their size and their transparency") {
  const Picture plain = encoded_anew(png({.width = 30, .height = 20}));
  CHECK(plain.type == PictureType::png);
  CHECK(plain.width == 30);
  CHECK(plain.height == 20);
  CHECK(plain.content.starts_with("\x89PNG"));
  CHECK(plain.content[25] == PNG_COLOR_TYPE_RGB);
  const Picture clear = encoded_anew(png({}, Filled::transparent));
  CHECK(clear.content[25] == PNG_COLOR_TYPE_RGB_ALPHA);
  const Picture photo = encoded_anew(jpeg({.width = 31, .height = 17}));
  CHECK(photo.type == PictureType::jpeg);
  CHECK(photo.width == 31);
  CHECK(photo.height == 17);
  // What berth has made, it also takes.
  for (const Picture& picture : {plain, clear, photo})
    CHECK(encoded_anew(picture.content).type == picture.type);
}

TEST_CASE("nothing of an uploaded file is kept but its pixels") {
  const std::string secret = "51.4778 N, 0.0014 W";
  const std::string page = "<html><script>alert(1)</script>";
  const std::map<std::string, std::string> files = {
      {"a PNG with a comment", with_chunk(png(), "tEXtGPS\0"s + secret)},
      {"a PNG with Exif", with_chunk(png(), "eXIfMM" + secret)},
      {"a PNG with an unknown chunk", with_chunk(png(), "prVt" + page)},
      {"a PNG with something behind it", png() + page + secret},
      {"a JPEG with Exif", jpeg().insert(2,
                                         "\xff\xe1\0\x1b"s
                                         "Exif\0\0"s +
                                             secret)},
      {"a JPEG with a comment", jpeg().insert(2, "\xff\xfe\0\x15"s + secret)},
      {"a JPEG with something behind it", jpeg() + page + secret}};
  for (const auto& [what, file] : files) {
    INFO(what);
    REQUIRE((file.find(secret) != std::string::npos || file.find(page) != std::string::npos));
    const Picture picture = encoded_anew(file);
    CHECK(picture.content.find(secret) == std::string::npos);
    CHECK(picture.content.find("script") == std::string::npos);
    CHECK(picture.content.find("Exif") == std::string::npos);
  }
  std::cout << files.size() << " files with more than a picture in them\n";
}

TEST_CASE("files that aren't pictures, or are too large, are refused with the reason") {
  const std::string type = "must be a PNG or a JPEG";
  const std::string damaged = "is damaged or not complete";
  const std::string noise_png = png({.width = 60, .height = 60}, Filled::noise);
  const std::string noise_jpeg = jpeg({.width = 60, .height = 60}, Filled::noise);
  const std::vector<std::pair<std::string, std::string>> files = {
      {"", type},
      {"hello", type},
      {R"(<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>)", type},
      {"<?xml version=\"1.0\"?><svg/>", type},
      {"GIF89a\1\0\1\0\0\0\0;"s, type},
      {"RIFF\x1a\0\0\0WEBPVP8L"s, type},
      {"BM6\0\0\0"s, type},
      {"\0\0\0\x1c"
       "ftypavif"s,
       type},
      {"%PDF-1.7", type},
      {"\x89PNG\r\n\x1a\n", damaged},
      {"\xff\xd8\xff", damaged},
      {noise_png.substr(0, noise_png.size() / 2), damaged},
      {noise_jpeg.substr(0, noise_jpeg.size() / 2), damaged},
      {png().replace(40, 1, "\x7f"), damaged},
      {with_chunk(png(), "acTL\0\0\0\2\0\0\0\0"s), "must not be animated"},
      {png_that_claims(30'000, 30'000), "30000 × 30000 pixels"},
      {png_that_claims(2'147'483'647, 2'147'483'647), damaged},
      {png_that_claims(0, 4), damaged},
      {png_that_claims(2'049, 1), "2049 × 1 pixels"},
      {png_that_claims(2'048, 2'048), "2048 × 2048 pixels"},
      {jpeg_that_claims(65'500, 65'500), "65500 × 65500 pixels"},
      {jpeg_that_claims(0, 0), damaged},
      {jpeg({}, Filled::plain, 90, TJPF_CMYK), "CMYK"},
      {png() + std::string(max_uploaded_bytes, ' '), "at most 500 kB"},
      {png({.width = 400, .height = 200}, Filled::noise).replace(25, 1, "\x7f"), damaged}};
  for (const auto& [file, reason] : files) {
    INFO(file.substr(0, 40));
    CHECK(why_refused(file).find(reason) != std::string::npos);
  }
  std::cout << files.size() << " files are refused\n";
}

TEST_CASE("a picture that is cut off anywhere is whole or refused") {
  for (const std::string& file : {png({.width = 20, .height = 20}, Filled::noise),
                                  jpeg({.width = 20, .height = 20}, Filled::noise)})
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::string reason = why_refused(file.substr(0, size));
      if (!reason.empty()) continue;
      // Only what follows the pixels is missing.
      CHECK(size + 16 > file.size());
    }
}

TEST_CASE("an opaque PNG that would be too large becomes a JPEG") {
  const Sizes sizes = {.width = 300, .height = 300};
  const Picture picture = encoded_anew(png(sizes, Filled::noise));
  CHECK(picture.type == PictureType::jpeg);
  CHECK(picture.content.size() <= max_picture_bytes);
  // Noise with this many pixels can't be made small enough.
  CHECK(why_refused(jpeg({.width = 1'000, .height = 1'000}, Filled::noise, 20)).find("200 kB") !=
        std::string::npos);
}

// The pixels fit, and are followed by data that would be larger than memory; the decoder stops.
TEST_CASE("the largest picture that is allowed is decoded in a moment") {
  const std::string file = png({.width = 1'920, .height = 1'080});
  REQUIRE(file.size() < max_uploaded_bytes);
  const auto began = std::chrono::steady_clock::now();
  CHECK(encoded_anew(file).width == 1'920);
  std::cout << "1,920 × 1,080 pixels took "
            << std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - began)
                   .count()
            << " ms\n";
}

TEST_CASE("few pictures are decoded at a time, and the others wait", "[pool:pictures]") {
  PictureWork work;
  const std::string large = png({.width = 1'600, .height = 1'200});
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&] {
        const ClaimantOfThread claimant({.account = "crowd", .address = "192.0.2.1"});
        work.encode(large);
        ++done;
      });
    while (figures_of(Pool::pictures).used < PictureWork::places && done < 6)
      std::this_thread::yield();
    if (done == 0 &&
        refusal([&] { work.encode(large, std::chrono::milliseconds(0)); }) == "503 unavailable")
      ++refused;
  }
  CHECK(done == 6);
  CHECK(refused == 1);
  CHECK(figures_of(Pool::pictures).used == 0);
}

}  // namespace
