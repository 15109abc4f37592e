// The client that berthd gives to everybody.
#include "api/console/client_files.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/temp_dir.h"

using namespace berth::api;
using berth::test::TempDir;
using namespace berth::api::console;

namespace {

std::string streamed(const Response& response) {
  std::string all;
  while (response.stream([&](std::string_view part) {
    all += part;
    return true;
  }) == Next::more) {
  }
  return all;
}

std::optional<Response> ask(const ClientFiles& files, std::string_view path,
                            std::string_view method = "GET") {
  Request request;
  request.method = method;
  request.path = path;
  Response response;
  if (!files.handle(request, response)) return std::nullopt;
  return response;
}

}  // namespace

TEST_CASE("client files: the script names the platform, and archives are sent as they are") {
  const TempDir dir;
  const std::string archive(200'000, 'x');
  dir.write("berth-linux-amd64.tar.gz", archive);
  dir.write("secret", "no");
  const ClientFiles files(dir.path(), "https://berth.example.org");
  const auto script = ask(files, "/install.sh");
  REQUIRE(script);
  CHECK(script->status == 200);
  CHECK(script->body.starts_with("#!/bin/sh\n"));
  CHECK(script->body.contains("platform='https://berth.example.org'\n"));
  CHECK(script->body.ends_with("\nmain\n"));
  const auto sent = ask(files, "/download/berth-linux-amd64.tar.gz");
  REQUIRE(sent);
  CHECK(sent->content_type == "application/gzip");
  CHECK(streamed(*sent) == archive);
}

TEST_CASE("client files: nothing else of the folder can be read, and nothing can be written") {
  const TempDir dir;
  dir.write("secret", "no");
  const ClientFiles files(dir.path(), "https://berth.example.org");
  for (const char* path : {"/download/secret", "/download/../secret", "/download/",
                           "/download/berth-linux-arm64.tar.gz", "/download/%2e%2e/secret"})
    CHECK(ask(files, path)->status == 404);
  CHECK(ask(files, "/install.sh", "POST")->status == 405);
  for (const char* path : {"/", "/install", "/downloads", "/api/download/secret"})
    CHECK_FALSE(ask(files, path));
  const ClientFiles none({}, "https://berth.example.org");
  CHECK(ask(none, "/install.sh")->status == 404);
  CHECK(ask(none, "/download/berth-linux-amd64.tar.gz")->status == 404);
}
