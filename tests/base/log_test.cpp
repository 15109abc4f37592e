#include "controller/base/log.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/clock.h"

namespace {

using namespace berth;
using nlohmann::json;

// Returns the lines that `work` writes to stderr.
std::vector<std::string> lines_of(const std::function<void()>& work) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(::fileno(file), STDERR_FILENO) == STDERR_FILENO);
  work();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  std::rewind(file);
  std::vector<std::string> lines;
  std::string line;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c == '\n')
      lines.push_back(std::exchange(line, ""));
    else
      line += char(c);
  }
  if (!line.empty()) lines.push_back(line);
  std::fclose(file);
  return lines;
}

TEST_CASE("a line is one JSON object with time, level, message and fields in their order") {
  log::setup(log::Format::json, log::Level::info);
  const auto lines = lines_of([] {
    log::info("started", {{"port", 8080}, {"a", "b"}, {"z", nullptr}});
  });
  REQUIRE(lines.size() == 1);
  const auto line = nlohmann::ordered_json::parse(lines[0]);
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"time", "level", "msg", "port", "a", "z"});
  CHECK(parse_iso8601(line["time"].get<std::string>()));
  CHECK(line["level"] == "info");
  CHECK(line["msg"] == "started");
  CHECK(line["port"] == 8080);
}

TEST_CASE("nothing that is logged can end the line or the object") {
  log::setup(log::Format::json, log::Level::info);
  const std::vector<std::string> nasty = {"two\nlines",
                                          "\"},{\"level\":\"error\"",
                                          "{} {0} %s %n",
                                          "\xff\xfe no UTF-8",
                                          std::string("nul\0byte", 8),
                                          "\x1b[31m",
                                          "\r\n"};
  for (const std::string& text : nasty) {
    const auto lines = lines_of([&] { log::warning(text, {{"value", text}}); });
    REQUIRE(lines.size() == 1);
    const auto line = json::parse(lines[0]);
    CHECK(line["level"] == "warning");
    if (text[0] != '\xff') {
      CHECK(line["msg"] == text);
      CHECK(line["value"] == text);
    }
  }
}

TEST_CASE("long texts are cut between characters") {
  for (const auto format : {log::Format::json, log::Format::text}) {
    log::setup(format, log::Level::info);
    std::string text(log::max_field_bytes - 1, 'x');
    CHECK(lines_of([&] {
            log::info("line", {{"path", text}});
          })
              .at(0)
              .find(text) != std::string::npos);
    text += "é and much more" + std::string(1 << 20, 'y');
    const auto lines = lines_of([&] { log::info("line", {{"path", text}}); });
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].size() < log::max_field_bytes + 200);
    CHECK(lines[0].find("xxx…\"") != std::string::npos);
  }
}

TEST_CASE("lines of several threads aren't mixed") {
  log::setup(log::Format::json, log::Level::info);
  constexpr int threads = 4, each = 50;
  const auto lines = lines_of([] {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([t] {
        for (int i = 0; i < each; ++i)
          log::info("line", {{"thread", t}, {"filler", std::string(500, 'x')}});
      });
  });
  CHECK(lines.size() == size_t(threads * each));
  for (const std::string& line : lines)
    CHECK(json::parse(line)["filler"].get<std::string>().size() == 500);
}

TEST_CASE("lines below the level aren't written") {
  log::setup(log::Format::json, log::Level::warning);
  CHECK_FALSE(log::enabled(log::Level::info));
  CHECK(log::enabled(log::Level::warning));
  const auto lines = lines_of([] {
    log::debug("no");
    log::info("no");
    log::warning("yes");
    log::error("yes");
  });
  CHECK(lines.size() == 2);
}

TEST_CASE("the text format is for people") {
  log::setup(log::Format::text, log::Level::debug);
  const auto lines = lines_of([] { log::debug("looking", {{"id", "a b"}, {"n", 1}}); });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with(" debug looking id=\"a b\" n=1"));
}

TEST_CASE("levels have names") {
  CHECK(log::parse_level("debug") == log::Level::debug);
  CHECK(log::parse_level("error") == log::Level::error);
  CHECK_FALSE(log::parse_level("warn"));
  CHECK_FALSE(log::parse_level(""));
}

}  // namespace
