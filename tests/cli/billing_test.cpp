// What a deployment costs, with the client against the real berthd.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("billing tells the price and what was charged") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const berth::process::Variables admin = {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}};
  ada.must({"admin", "mint", "2500", "--reason", "a test"}, "", admin);
  ada.must({"admin", "promote", "basic"}, "", admin);
  ada.must({"deploy", "create", "shop", "--image", "docker.io/library/hello:1", "--tier", "basic"});
  const std::string billing = ada.must({"deploy", "billing", "shop"}).out;
  CHECK(billing.find("Points for 30 days:  1000") != std::string::npos);
  CHECK(billing.find("Balance of the app:  1500") != std::string::npos);
  CHECK(billing.find("charge") != std::string::npos);
}
