#include "reconcilers/dns/resolver.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "reconcilers/dns/message.h"
#include "tests/dns/server.h"

using namespace berth::dns;
using namespace berth::dns::test;
using Kind = Answer::Kind;
using Texts = std::vector<std::string>;

namespace {

Options quick(const Server& server) {
  return {.servers = {server.text()},
          .patience = std::chrono::milliseconds(300),
          .tries = 2,
          .deadline = std::chrono::milliseconds(1'500)};
}

Server::Handler zone(std::vector<Record> records) {
  return [records = std::move(records)](const Question& question) {
    return from_zone(question, records);
  };
}

const std::vector<Record> shop = {alias("www.shop.example", "edge.shop.example"),
                                  alias("edge.shop.example", "shop.apps.example"),
                                  address("shop.apps.example", "192.0.2.7"),
                                  address("shop.apps.example", "2001:db8::7"),
                                  text("_berth-challenge.shop.example", {"first"}),
                                  text("_berth-challenge.shop.example", {"in two ", "strings"})};

}  // namespace

TEST_CASE("a CNAME chain is followed to its addresses, whichever server follows it") {
  SECTION("a server that gives one record at a time") {
    Server server(zone(shop));
    const Answer answer = Resolver(quick(server)).look_up("WWW.shop.example.", Type::a);
    CHECK(answer.kind == Kind::found);
    CHECK(answer.chain == Texts{"edge.shop.example", "shop.apps.example"});
    CHECK(answer.values == Texts{"192.0.2.7"});
    CHECK(server.questions() == 3);
  }
  SECTION("a resolver that gives all of it") {
    Server server([](const Question& question) {
      return Texts{reply(question, {shop[1], shop[0], shop[2]})};
    });
    const Answer answer = Resolver(quick(server)).look_up("www.shop.example", Type::a);
    CHECK(answer.kind == Kind::found);
    CHECK(answer.chain == Texts{"edge.shop.example", "shop.apps.example"});
    CHECK(answer.values == Texts{"192.0.2.7"});
    CHECK(server.questions() == 1);
  }
}

TEST_CASE("addresses of both kinds, and texts that are split into strings") {
  Server server(zone(shop));
  const Resolver resolver(quick(server));
  CHECK(resolver.look_up("shop.apps.example", Type::aaaa).values == Texts{"2001:db8::7"});
  const Answer texts = resolver.look_up("_berth-challenge.shop.example", Type::txt);
  CHECK(texts.kind == Kind::found);
  CHECK(texts.values == Texts{"first", "in two strings"});
}

TEST_CASE("missing names and missing records are told apart, also at the end of a chain") {
  Server server(zone({alias("old.example", "gone.example"), alias("bare.example", "only4.example"),
                      address("only4.example", "192.0.2.1")}));
  const Resolver resolver(quick(server));
  CHECK(resolver.look_up("nobody.example", Type::a).kind == Kind::no_such_name);
  CHECK(resolver.look_up("only4.example", Type::txt).kind == Kind::no_data);
  const Answer dangling = resolver.look_up("old.example", Type::a);
  CHECK(dangling.kind == Kind::no_such_name);
  CHECK(dangling.chain == Texts{"gone.example"});
  CHECK(dangling.problem == "there is no such name: gone.example");
  CHECK(resolver.look_up("bare.example", Type::aaaa).kind == Kind::no_data);
}

TEST_CASE("a server that fails, refuses, is silent or doesn't exist says nothing about the name") {
  const auto ask = [](const Server::Handler& handler) {
    Server server(handler);
    return Resolver(quick(server)).look_up("shop.example", Type::a);
  };
  CHECK(ask([](const Question& q) { return Texts{reply(q, {}, server_failure)}; }).kind ==
        Kind::unknown);
  CHECK(ask([](const Question& q) { return Texts{reply(q, {}, refused)}; }).kind == Kind::unknown);
  CHECK(ask([](const Question&) { return Texts{}; }).kind == Kind::unknown);
  const Answer absent = Resolver({.servers = {"127.0.0.1:1"},
                                  .patience = std::chrono::milliseconds(100),
                                  .tries = 1,
                                  .deadline = std::chrono::milliseconds(500)})
                            .look_up("shop.example", Type::a);
  CHECK(absent.kind == Kind::unknown);
  CHECK_FALSE(absent.problem.empty());
}

TEST_CASE("the known part of a chain is reported even if its end can't be resolved") {
  Server server([](const Question& question) {
    if (question.name == "www.shop.example") return Texts{reply(question, {shop[0]})};
    return Texts{reply(question, {}, server_failure)};
  });
  const Answer answer = Resolver(quick(server)).look_up("www.shop.example", Type::a);
  CHECK(answer.kind == Kind::unknown);
  CHECK(answer.chain == Texts{"edge.shop.example"});
}

TEST_CASE("a silent server takes no longer than the deadline") {
  Server server([](const Question&) { return Texts{}; });
  Options options = quick(server);
  options.patience = std::chrono::seconds(60);
  options.deadline = std::chrono::milliseconds(200);
  const auto start = std::chrono::steady_clock::now();
  CHECK(Resolver(options).look_up("shop.example", Type::a).kind == Kind::unknown);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a look-up ends soon after it was stopped") {
  Server server([](const Question&) { return Texts{}; });
  Options options = quick(server);
  options.patience = options.deadline = std::chrono::seconds(60);
  Resolver resolver(options);
  const auto start = std::chrono::steady_clock::now();
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    resolver.stop();
  });
  CHECK(resolver.look_up("shop.example", Type::a).kind == Kind::unknown);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("the second server is asked if the first one fails") {
  Server bad([](const Question& question) { return Texts{reply(question, {}, server_failure)}; });
  Server good(zone(shop));
  Options options = quick(bad);
  options.servers.push_back(good.text());
  CHECK(Resolver(options).look_up("shop.apps.example", Type::a).kind == Kind::found);
}

TEST_CASE("circles and endless chains end") {
  SECTION("a circle, one record at a time") {
    Server server(zone({alias("a.example", "b.example"), alias("b.example", "a.example")}));
    const Answer answer = Resolver(quick(server)).look_up("a.example", Type::a);
    CHECK(answer.kind == Kind::no_data);
    CHECK(answer.problem == "its CNAME records form a loop");
    CHECK(server.questions() == 2);
  }
  SECTION("a name that is its own alias") {
    Server server(zone({alias("a.example", "A.example")}));
    CHECK(Resolver(quick(server)).look_up("a.example", Type::a).kind == Kind::no_data);
  }
  SECTION("another name each time") {
    Server server([](const Question& question) {
      return Texts{reply(question, {alias(question.name, "x" + question.name)})};
    });
    const Answer answer = Resolver(quick(server)).look_up("a.example", Type::a);
    CHECK(answer.kind == Kind::no_data);
    CHECK(answer.problem == "its chain of CNAME records is too long");
    CHECK(answer.chain.size() == max_chain);
    CHECK(server.questions() == int(max_chain) + 1);
  }
}

TEST_CASE("a truncated answer is asked for again over TCP") {
  Server server([](const Question& question) {
    if (question.transport == Transport::udp)
      return Texts{reply(question, {address(question.name, "198.51.100.66")}, no_error, truncated)};
    std::vector<Record> many;
    for (int i = 0; i < 100; ++i)
      many.push_back(address(question.name, "192.0.2." + std::to_string(i)));
    return Texts{reply(question, many)};
  });
  const Answer answer = Resolver(quick(server)).look_up("shop.example", Type::a);
  CHECK(answer.kind == Kind::found);
  CHECK(answer.values.size() == 100);
  CHECK(std::ranges::find(answer.values, "198.51.100.66") == answer.values.end());
}

TEST_CASE("answers to other questions are ignored") {
  const Record forged = address("shop.example", "198.51.100.66");
  const auto ask = [&](const std::function<std::string(Question)>& forge) {
    Server server([&](const Question& question) {
      return Texts{forge(question), reply(question, {address("shop.example", "192.0.2.7")})};
    });
    return Resolver(quick(server)).look_up("shop.example", Type::a);
  };
  SECTION("with another id") {
    const Answer answer = ask([&](Question question) {
      question.id[0] = char(question.id[0] ^ 1);
      return reply(question, {forged});
    });
    CHECK(answer.values == Texts{"192.0.2.7"});
  }
  SECTION("to another question") {
    const Answer answer = ask([&](Question question) {
      question.wire[1] = 'c';
      return reply(question, {forged});
    });
    CHECK(answer.values == Texts{"192.0.2.7"});
  }
  SECTION("about another name") {
    Server server([&](const Question& question) {
      return Texts{reply(question, {address("other.example", "198.51.100.66")})};
    });
    CHECK(Resolver(quick(server)).look_up("shop.example", Type::a).kind == Kind::no_data);
  }
  SECTION("nothing but wrong ids") {
    Server server([&](Question question) {
      question.id[1] = char(question.id[1] ^ 1);
      return Texts{reply(question, {forged})};
    });
    CHECK(Resolver(quick(server)).look_up("shop.example", Type::a).kind == Kind::unknown);
  }
}

TEST_CASE("servers are addresses") {
  for (const char* server : {"192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:5353", "2001:db8::1"})
    CHECK_NOTHROW(Resolver({.servers = {server}}));
  CHECK_THROWS_AS(Resolver({.servers = {"ns.example"}}), std::invalid_argument);
}

TEST_CASE("any bytes are parsed as one message or none") {
  const Question question{.id = "ab", .name = "www.shop.example", .type = 1, .wire = [] {
                            const std::string labels("\3www\4shop\7example\0\0\1\0\1", 22);
                            return labels;
                          }()};
  const std::string whole = reply(question, {shop[0], shop[1], shop[2]});
  REQUIRE(parse_message(whole, Type::a)->aliases.size() == 2);
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(parse_message(whole.substr(0, length), Type::a));
  CHECK(rc::check("damaged", [&](const std::vector<std::pair<std::uint16_t, char>>& changes) {
    std::string damaged = whole;
    for (const auto& [at, byte] : changes) damaged[at % damaged.size()] = byte;
    for (const Type type : {Type::a, Type::aaaa, Type::txt}) (void)parse_message(damaged, type);
  }));
  CHECK(
      rc::check("random", [](const std::string& bytes) { (void)parse_message(bytes, Type::txt); }));
}
