// The points of an account with the client.
#include <catch2/catch.hpp>
#include <thread>

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
  CHECK(ada.berth({"refunds", "list", "--users", "--status", "open"}).code == 0);
  // The list of one's own requests has no filter, so it doesn't look as if it had one.
  CHECK(ada.berth({"refunds", "list", "--status", "open"}).code == 2);
  CHECK(ada.berth({"refunds", "request", "01936f5e-7c1a-7000-8000-000000000007", "--reason",
                   "it broke"})
            .code != 0);
  CHECK(ada.admin({"money"}).out.find("Points that exist") != std::string::npos);
  CHECK(ada.admin({"refund-requests", "-o", "json"}).body().at("refund_requests").empty());
  CHECK(ada.admin({"proposals", "-o", "json"}).body().at("proposals").empty());
}

TEST_CASE("receipts are verified without a server, and a changed one is refused") {
  const Berthd berthd;
  const Person ada(berthd);
  const berth::process::TempDir dir;
  ada.settle_in("ada");
  const std::string user = ada.must({"account", "show", "-o", "json"}).body().at("user").at("id");
  const std::string id = ada.admin({"mint", "300", "--account", "user", "--id", user, "--reason",
                                    "a test", "-o", "json"})
                             .body()
                             .at("transaction_id");
  const std::string keys = dir.write("keys", ada.must({"receipt", "keys"}).out);
  // Nothing listens there.
  const auto verify = [&](const std::string& receipts, const Words& more) {
    Words words = {"receipt", "verify", dir.write("receipts", receipts), "--server",
                   "http://127.0.0.1:1"};
    words.insert(words.end(), more.begin(), more.end());
    return ada.berth(words);
  };
  const Ran open = verify(ada.must({"receipt", "get", id}).out, {"--keys", keys});
  CHECK(open.code == 5);
  CHECK(open.out.find("The platform has signed it.") != std::string::npos);

  ada.admin({"clock", "--advance", "2d"});
  std::string published;
  for (int i = 0; i < 150; ++i) {
    published = ada.must({"receipt", "ledger"}).out;
    if (!json::parse(published).at("days").empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::string ledger = dir.write("ledger", published);
  const std::string receipt = ada.admin({"receipt", id}).out;
  const Ran stands = verify(receipt, {"--keys", keys, "--ledger", ledger});
  CHECK(stands.code == 0);
  CHECK(stands.out.find("It stands in the ledger") != std::string::npos);
  CHECK(ada.berth({"receipt", "verify", dir.write("receipt", receipt)}).code == 0);
  CHECK(verify(receipt, {"--keys", keys}).code == 8);  // it would have to ask the server

  std::string changed = receipt;
  char& one = changed[changed.find('.') + 20];
  one = one == 'A' ? 'B' : 'A';
  CHECK(verify(changed, {"--keys", keys, "--ledger", ledger}).code == 1);
  CHECK(verify("no receipt", {"--keys", keys}).code == 1);
  CHECK(verify("", {"--keys", keys}).code == 1);
  const Ran both = verify(receipt + changed, {"--keys", keys, "--ledger", ledger, "-o", "json"});
  CHECK(both.code == 1);
  CHECK(both.body().at("receipts").size() == 2);
  CHECK(both.body().at("receipts").at(0).at("verdict") == "stands");
}

TEST_CASE("a statement is printed in the form that is asked for") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,app:balance:read");
  const std::string csv = ada.must({"points", "statement"}).out;
  CHECK(csv.find("id,inserted_at,kind,amount,balance") == 0);
  CHECK(csv.find(",closing_balance,,") != std::string::npos);
  const json whole = ada.must({"apps", "statement", "--format", "json"}).body();
  CHECK(whole.at("account").at("kind") == "app");
  CHECK(whole.at("closing_balance") == whole.at("opening_balance").get<int>() +
                                           whole.at("credited").get<int>() -
                                           whole.at("debited").get<int>());
  CHECK(ada.berth({"points", "statement", "--format", "pdf"}).code == 2);
}
