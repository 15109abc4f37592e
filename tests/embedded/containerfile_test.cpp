#include "reconcilers/embedded/node/containerfile.h"

#include <catch2/catch.hpp>

using berth::embedded::Containerfile;

namespace {

const std::vector<std::string> registries = {"docker.io/library", "ghcr.io"};

std::string refusal(const std::string& text) {
  return Containerfile::parse(text).refusal(registries);
}

}  // namespace

TEST_CASE("instructions are one line each, whatever the lines, comments and cases") {
  const auto file = Containerfile::parse(
      "# a comment\n\nfrom node:22 as Base\r\nRUN one \\\n  # in between\n\n  && two\nCMD [\"x\"]");
  REQUIRE(file.instructions.size() == 3);
  CHECK(file.instructions[0].name == "FROM");
  CHECK(file.instructions[1].text == "one   && two");
  CHECK(file.refusal(registries).empty());
  CHECK(file.bases() == std::vector<std::string>{"docker.io/library/node:22"});
  CHECK(
      file.to_text("a1") ==
      "FROM docker.io/library/node:22 AS base\nARG BERTH_APP=a1\nRUN one   && two\nCMD [\"x\"]\n");
}

TEST_CASE("stages, scratch, heredoc-like shifts and usual flags are taken") {
  for (const char* text :
       {"FROM scratch\nCOPY hello /hello\n",
        "FROM ghcr.io/acme/base:1@sha256:abc AS build\nRUN make\nFROM scratch\nCOPY --from=build "
        "--chown=1000 /a /b\n",
        "FROM node\nFROM scratch\nCOPY --from=0 /a /b\n",
        "ARG X=1\nFROM --platform=linux/amd64 node\nRUN echo $((1 << 2)) && cat <<< x\n",
        "FROM node AS one\nFROM one\nADD a.tar.gz /\n"})
    CHECK(refusal(text) == "");
}

TEST_CASE("what a builder would do on the machine itself isn't taken") {
  for (const char* text : {"",
                           "RUN true\n",
                           "FROM $BASE\n",
                           "ARG X=node\nFROM ${X}\n",
                           "FROM quay.io/x/y\n",
                           "FROM localhost/app/name@sha256:aa\n",
                           "FROM acme/x\n",
                           "FROM docker.io/evil/x\n",
                           "FROM node\nRUN --mount=type=bind,source=/,target=/m true\n",
                           "FROM node\nRUN --network=host true\n",
                           "FROM node\nRUN --security=insecure true\n",
                           "FROM node\nRUN \\\n--mount=type=cache,target=/x true\n",
                           "FROM node\nADD http://169.254.169.254/x /\n",
                           "FROM node\nADD --checksum=a x /\n",
                           "FROM node\nADD [\"http:\\u002f\\u002fx\", \"/\"]\n",
                           "FROM node\nARG U=http\nADD $U /\n",
                           "FROM node\nADD git@example.org:a/b /\n",
                           "FROM node\nADD github.com/a/b /\n",
                           "FROM node\nCOPY --from=ghcr.io/acme/x /a /b\n",
                           "FROM node\nCOPY --from=$X /a /b\n",
                           "FROM node\nCOPY --from=0 /a /b\n",
                           "FROM node\nCOPY --link a /b\n",
                           "FROM node\nRUN <<EOF\ntrue\nEOF\n",
                           "FROM node\nCOPY <<EOF /a\nx\nEOF\n",
                           "FROM node\nRUN <<\\CMD\ntrue\nCMD\n",
                           "FROM node\nRUN <<-''CMD' '\ntrue\n",
                           "FROM node\nRUN true \\\\",
                           "FROM node\nONBUILD RUN true\n",
                           "FROM node\nINCLUDE x\n",
                           "FROM node extra\n",
                           "FROM --pull node\n"}) {
    INFO(text);
    CHECK(refusal(text) != "");
  }
}

TEST_CASE("a Containerfile has limits") {
  std::string many = "FROM scratch\n", stages;
  for (int i = 0; i < 500; ++i) many += "ENV A=1\n";
  for (int i = 0; i < 21; ++i) stages += "FROM scratch\n";
  CHECK(refusal(many).find("more than 500") != std::string::npos);
  CHECK(refusal(stages).find("more than 20 stages") != std::string::npos);
  CHECK(refusal("FROM scratch\nENV A=" + std::string(70'000, 'x')).find("bytes") !=
        std::string::npos);
}
