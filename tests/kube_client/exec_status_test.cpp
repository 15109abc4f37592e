#include "reconcilers/kube/exec_status.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using berth::kube::ExecStatus;
using berth::kube::parse_exec_status;
using nlohmann::json;

namespace {

json with_exit_code(const json& code) {
  return {{"metadata", json::object()},
          {"status", "Failure"},
          {"message", "command terminated with non-zero exit code: exit status 7"},
          {"reason", "NonZeroExitCode"},
          {"details", {{"causes", {{{"reason", "ExitCode"}, {"message", code}}}}}}};
}

}  // namespace

TEST_CASE("the status of a command says how it ended") {
  const auto good = parse_exec_status(R"({"metadata":{},"status":"Success"})");
  REQUIRE(good);
  CHECK(good->succeeded);
  CHECK(good->exit_code == 0);
  const auto bad = parse_exec_status(with_exit_code("7").dump());
  REQUIRE(bad);
  CHECK_FALSE(bad->succeeded);
  CHECK(bad->exit_code == 7);
  const json unstarted{{"status", "Failure"},
                       {"message", "container not found (\"app\")"},
                       {"reason", "InternalError"}};
  const auto never = parse_exec_status(unstarted.dump());
  REQUIRE(never);
  CHECK_FALSE(never->exit_code);
  CHECK(never->message == "container not found (\"app\")");
}

TEST_CASE("what isn't a status, or is half of one, is no exit code") {
  for (const char* text : {"", "null", "[]", "7", "{}", R"({"status":7})",
                           R"({"status":"Running"})", "{\"status\":\"Success\"", "\xff\xfe"})
    CHECK_FALSE(parse_exec_status(text));
  for (const json& code :
       {json("x"), json(""), json("99999999999999999999"), json(7), json(nullptr)}) {
    const auto status = parse_exec_status(with_exit_code(code).dump());
    REQUIRE(status);
    CHECK_FALSE(status->exit_code);
  }
  // The reason decides, and not what else may be there.
  json other = with_exit_code("7");
  other["reason"] = "InternalError";
  CHECK_FALSE(parse_exec_status(other.dump())->exit_code);
  CHECK_FALSE(parse_exec_status(std::string(100'000, '[')));
}

TEST_CASE("any bytes are read as a status or refused") {
  CHECK(rc::check("bytes", [](const std::string& bytes) { parse_exec_status(bytes); }));
  CHECK(rc::check("a status with a piece replaced", [](const std::string& piece) {
    std::string text = with_exit_code("7").dump();
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text.replace(at, *rc::gen::inRange<std::size_t>(0, text.size() - at), piece);
    const auto status = parse_exec_status(text);
    RC_ASSERT((!status || !status->succeeded || status->exit_code == 0));
  }));
  CHECK(rc::check("each exit code", [](int code) {
    RC_ASSERT(parse_exec_status(with_exit_code(std::to_string(code)).dump())->exit_code == code);
  }));
}
