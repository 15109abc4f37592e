#include "controller/base/quantity.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cstdio>

namespace berth {
namespace {

TEST_CASE("quantities are read as Kubernetes writes them") {
  CHECK(parse_quantity("0.7") == parse_quantity("700m"));
  CHECK(parse_quantity("1e3") == parse_quantity("1k"));
  CHECK(parse_quantity("2E") == 2e18L);
  CHECK(parse_quantity("0") == 0.0L);
  CHECK(parse_quantity("250m") == 0.25L);
  CHECK(parse_quantity("16Ki") == 16384.0L);
  CHECK(parse_quantity("+5") == 5.0L);
  CHECK(parse_quantity("-1k") == -1000.0L);
  CHECK(parse_quantity("1.5Gi") == parse_quantity("1536Mi"));
  CHECK(parse_quantity("1Gi") != parse_quantity("1G"));
  CHECK(parse_quantity("100u") == parse_quantity("0.1m"));
  for (const char* none : {"", "m", "Gi", "1x", "1 Gi", "nan", "inf", "0x10", "--1", "1GiB", "lots",
                           "+-1", "++1", "1e3Ki", "1e3k"})
    CHECK_FALSE(parse_quantity(none).has_value());
}

TEST_CASE("milli quantities equal their decimals") {
  CHECK(rc::check([] {
    const int milli = *rc::gen::inRange(0, 1'000'000);
    char decimal[32];
    std::snprintf(decimal, sizeof decimal, "%d.%03d", milli / 1000, milli % 1000);
    RC_ASSERT(parse_quantity(std::to_string(milli) + "m") == parse_quantity(decimal));
  }));
}

}  // namespace
}  // namespace berth
