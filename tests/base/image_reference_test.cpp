#include "controller/base/image_reference.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/programs.h"

namespace {

using namespace berth;

TEST_CASE("what people write is read as container runtimes read it, and the result stays") {
  std::ifstream file(std::string(test::source_dir) + "/tests/images/names.json");
  const auto cases = nlohmann::json::parse(file);
  for (const auto& one : cases) {
    const std::string written = one[0], meant = one[1];
    INFO(written);
    CHECK(normalized_image(written) == meant);
    CHECK(normalized_image(meant) == meant);
  }
  std::cout << "names of images: " << cases.size() << "\n";
  CHECK(cases.size() >= 25);
}

TEST_CASE("no text makes it fail, and it grows by a registry at most") {
  for (const std::string text :
       {"%", "https://", "https://%zz/a", "//", "/", "a//b", "https://github.com/container",
        "github.com/a/container", "hub.docker.com/_", ":", "@", "a b", "\0x"}) {
    INFO(text);
    CHECK(normalized_image(text).size() <= text.size() + 18);
  }
  CHECK(normalized_image(std::string(100'000, '/')).size() <= 100'018);
}

TEST_CASE("an image without a tag means latest") {
  CHECK(with_tag("ghcr.io/acme/web") == "ghcr.io/acme/web:latest");
  CHECK(with_tag("127.0.0.1:5000/web") == "127.0.0.1:5000/web:latest");
  CHECK(with_tag("127.0.0.1:5000/web:1") == "127.0.0.1:5000/web:1");
  CHECK(with_tag("ghcr.io/acme/web@sha256:1") == "ghcr.io/acme/web@sha256:1");
  CHECK(with_tag("nginx") == "nginx:latest");
}

}  // namespace
