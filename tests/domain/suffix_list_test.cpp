#include "controller/domain/deployments/custom_domains/suffix_list.h"

#include <libpsl.h>

#include <catch2/catch.hpp>

#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

const Instant made = *parse_iso8601("2023-02-09T23:26:59Z");

TEST_CASE("a public suffix list is as old as its file, or as a date beside it says") {
  const test::TempDir dir;
  CHECK_FALSE(suffix_list::date_of(dir / "list"));
  const fs::path file = dir.write("list", "");
  fs::last_write_time(file, std::chrono::file_clock::from_sys(made));
  CHECK(suffix_list::date_of(file) == made);
  dir.write("list.date", "2024-05-06T07:08:09Z\n");
  CHECK(suffix_list::date_of(file) == *parse_iso8601("2024-05-06T07:08:09Z"));
  dir.write("list.date", "yesterday\n");
  CHECK(suffix_list::date_of(file) == made);
}

TEST_CASE("a public suffix list is old after a year") {
  const suffix_list::Source source = {.file = {}, .as_of = made};
  CHECK_FALSE(suffix_list::is_old(source, made + std::chrono::days(365)));
  CHECK(suffix_list::is_old(source, made + std::chrono::days(365) + 1ms));
}

TEST_CASE("the list in use is the machine's or libpsl's, whichever is newer") {
  const auto& source = suffix_list::source();
  const auto machines = suffix_list::date_of(psl_dist_filename());
  const Instant own{std::chrono::seconds{psl_builtin_file_time()}};
  CHECK(source.as_of == std::max(own, machines.value_or(own)));
  CHECK(psl_is_public_suffix(suffix_list::list(), "co.uk") == 1);
}

}  // namespace
