// The points of an account with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("points are counted, listed and given away") {
  const Berthd berthd;
  const Person ada(berthd);
  const Person bob(berthd);
  ada.settle_in("ada");
  bob.settle_in("bob");
  ada.admin({"mint", "300", "--account", "user", "--id",
             ada.must({"account", "show", "-o", "json"}).body().at("user").at("id"), "--reason",
             "to give away"});
  const auto balance = [](const Person& person) {
    return person.must({"points", "balance", "-o", "json"}).body().at("points").get<int>();
  };
  const int before = balance(ada);
  const int had = balance(bob);
  const Ran given = ada.must({"points", "transfer", "bob", "20", "--description", "For the map"});
  CHECK(given.out.find("bob got 20 points") == 0);
  CHECK(balance(ada) == before - 20);
  CHECK(balance(bob) == had + 20);
  const json out =
      ada.must({"points", "history", "--direction", "out", "-o", "json"}).body().at("entries");
  REQUIRE(out.size() == 1);
  CHECK(out.at(0).at("description") == "For the map");
  CHECK(ada.must({"points", "history", "--limit", "1", "-o", "json"}).body().at("entries").size() ==
        1);
  CHECK(ada.must({"points", "history"}).out.find("For the map") != std::string::npos);
  CHECK(ada.berth({"points", "refund", "01936f5e-7c1a-7000-8000-000000000007", "1"}).code != 0);
  CHECK(ada.berth({"points", "transfer", "bob", "-5"}).code == 2);
  CHECK(ada.berth({"points", "transfer", "bob", "999999999"}).code == 7);
  CHECK(ada.berth({"points", "transfer", "nobody-there", "1"}).code != 0);
}

TEST_CASE("points go to an app of one's own, and its money and requests for refunds are shown") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.admin({"mint", "300", "--account", "user", "--id",
             ada.must({"account", "show", "-o", "json"}).body().at("user").at("id"), "--reason",
             "for hosting"});
  const Ran moved = ada.must({"points", "top-up", "20", "--description", "hosting"});
  CHECK(moved.out.find("The app has ") == 0);
  CHECK(ada.must({"points", "app", "-o", "json"}).body().at("balance").get<int>() >= 20);
  CHECK(ada.must({"points", "app-history"}).out.find("top_up") != std::string::npos);
  CHECK(ada.must({"refunds", "list", "-o", "json"}).body().at("refund_requests").empty());
  CHECK(
      ada.must({"refunds", "list", "--users", "-o", "json"}).body().at("refund_requests").empty());
  CHECK(ada.berth({"refunds", "request", "01936f5e-7c1a-7000-8000-000000000007", "--reason",
                   "it broke"})
            .code != 0);
  CHECK(ada.admin({"money"}).out.find("Points that exist") != std::string::npos);
  CHECK(ada.admin({"refund-requests", "-o", "json"}).body().at("refund_requests").empty());
  CHECK(ada.admin({"proposals", "-o", "json"}).body().at("proposals").empty());
}
