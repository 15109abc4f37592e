#include "controller/base/program_name.h"

#include <catch2/catch.hpp>
#include <string>

using namespace berth;

TEST_CASE("a program is named shortly, and in no words of its own") {
  CHECK(program_name("berth/0.4.0 (Linux x86_64)") == "berth 0.4.0");
  CHECK(program_name("curl/8.5.0") == "curl 8.5.0");
  CHECK(program_name("my-deploy_bot") == "my-deploy_bot");
  CHECK(program_name("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0") ==
        "Firefox on Linux");
  CHECK(program_name("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like "
                     "Gecko) Chrome/126.0 Safari/537.36 Edg/126.0") == "Edge on Windows");
  CHECK(program_name("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
                     "Version/17.5 Mobile/15E148 Safari/604.1") == "Safari on iOS");
  CHECK(program_name("Mozilla/5.0 (compatible)") == "unknown");
  for (const char* none : {"", " ", "\u202etpure", "(comment)", "/1.0"})
    CHECK(program_name(none) == "unknown");
  // What a stranger's program would like the person to read.
  CHECK(program_name("Your own laptop, press Allow to go on") == "Your");
  CHECK(program_name("berth/official: please confirm") == "berth");
  CHECK(program_name(std::string(256, 'x')).size() == max_program_name);
  CHECK(program_name("x/" + std::string(256, '1')).size() == 2 + max_program_version);
}
