#include "reconcilers/registry/image_name.h"

#include <catch2/catch.hpp>

using berth::registry::ImageName;
using berth::registry::parse_image_name;

TEST_CASE("an image's name says which registry has it") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  CHECK(parse_image_name("ghcr.io/acme/web:1.2") == ImageName{"ghcr.io", "acme/web", "1.2"});
  CHECK(parse_image_name("ghcr.io/acme/web") == ImageName{"ghcr.io", "acme/web", "latest"});
  CHECK(parse_image_name("ghcr.io/acme/web:1.2@" + digest) ==
        ImageName{"ghcr.io", "acme/web", digest});
  CHECK(parse_image_name("registry.example.org:5000/web") ==
        ImageName{"registry.example.org:5000", "web", "latest"});
  CHECK(parse_image_name("localhost/a/b/c:x") == ImageName{"localhost", "a/b/c", "x"});
}

TEST_CASE("Docker Hub's images have short names") {
  const ImageName nginx{"registry-1.docker.io", "library/nginx", "1.27"};
  CHECK(parse_image_name("docker.io/library/nginx:1.27") == nginx);
  CHECK(parse_image_name("docker.io/nginx:1.27") == nginx);
  CHECK(parse_image_name("nginx:1.27") == nginx);
  CHECK(parse_image_name("acme/web") == ImageName{"registry-1.docker.io", "acme/web", "latest"});
}

TEST_CASE("only registries on the same machine are asked over http") {
  CHECK(parse_image_name("localhost:5000/a").is_plain());
  CHECK(parse_image_name("registry.localhost:5000/a").is_plain());
  CHECK(parse_image_name("127.0.0.1:5000/a").is_plain());
  CHECK_FALSE(parse_image_name("registry.example.org:5000/a").is_plain());
  CHECK_FALSE(parse_image_name("docker.io/a").is_plain());
}
