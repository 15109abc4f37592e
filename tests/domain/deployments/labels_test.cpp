// Labels of deployments.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/rollback.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Change;
using deployments::Labels;

deployments::Order labelled(const std::string& name, const Labels& labels) {
  deployments::Order wanted = order(name);
  wanted.labels = labels;
  return wanted;
}

struct Fixture : DomainWorld {
  deployments::Deployment row =
      deploy(adas, labelled("shop", {{"stage", "test"}, {"team", "red"}}));

  std::vector<std::string> names(const std::string& label) {
    const auto page = read([&](db::Tx& tx) {
      return deployments::list(tx, adas.id, {.page = 1, .page_size = 20},
                               deployments::parse_label(label));
    });
    CHECK(page.total == std::int64_t(page.items.size()));
    std::vector<std::string> found;
    for (const auto& item : page.items) found.push_back(item.name);
    return found;
  }
  std::string refused(const Labels& labels) {
    Change wanted;
    wanted.labels = labels;
    return refusal([&] { change(adas, row.id, wanted); });
  }
};

TEST_CASE("a label selects deployments by its whole key and value") {
  Fixture f;
  using Names = std::vector<std::string>;
  f.clock.advance(std::chrono::seconds(1));
  f.deploy(f.adas, labelled("other", {{"stage", "test2"}, {"a-stage", "test"}, {"empty", ""}}));
  f.clock.advance(std::chrono::seconds(1));
  f.deploy(f.adas, labelled("third", {{"stage", "test"}}));
  f.deploy(f.adas, order("bare"));
  CHECK(f.names("stage=test") == Names{"third", "shop"});
  CHECK(f.names("stage=test2") == Names{"other"});
  CHECK(f.names("team=red") == Names{"shop"});
  CHECK(f.names("empty=") == Names{"other"});
  CHECK(f.names("stage=TEST").empty());
  CHECK(f.names("Stage=test").empty());
  CHECK(f.names("stage=").empty());
  CHECK(f.names("age=test").empty());
  for (const char* none : {"", "stage", "=", "=test", "stage=a b", "st/age=test", "stage=\"test",
                           "stage=test,team=red", "stage=-", "s\u00fc=test"}) {
    INFO(none);
    CHECK(refusal([&] { deployments::parse_label(none); }) == "422 validation_failed");
  }
}

TEST_CASE("labels change at once, and the container goes on running") {
  Fixture f;
  int told = 0;
  f.db.subscribe([&](db::Topic topic, const std::string& id) {
    if (topic == db::Topic::deployment && id == f.row.id) ++told;
  });
  Change wanted;
  wanted.labels = Labels{{"stage", "production"}};
  const auto changed = f.change(f.adas, f.row.id, wanted);
  CHECK(changed.labels == Labels{{"stage", "production"}});
  CHECK(changed.generation == f.row.generation);
  CHECK(changed.status == f.row.status);
  CHECK(told == 1);
  CHECK(f.logs(f.row.id).back().details->find(R"("fields":["labels"])") != std::string::npos);
  f.change(f.adas, f.row.id, wanted);
  CHECK(told == 1);
  Change other;
  other.set(&deployments::ContainerSpec::port, 8080);
  CHECK(f.change(f.adas, f.row.id, other).labels == Labels{{"stage", "production"}});
  wanted.labels = Labels();
  CHECK(f.change(f.adas, f.row.id, wanted).labels.empty());
}

TEST_CASE("a deleted deployment has no labels") {
  Fixture f;
  f.destroy(f.adas, f.row.id);
  CHECK(f.find_deployment(f.row.id).labels.empty());
  CHECK(f.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM deployments WHERE labels <> '{}'");
  }) == 0);
}

TEST_CASE("labels are limited as those of Kubernetes are") {
  Fixture f;
  const std::string longest(63, 'a');
  const auto labels = [](int count) {
    Labels made;
    for (int i = 0; i < count; ++i) made["k" + std::to_string(i)] = "v";
    return made;
  };
  CHECK(f.refused({{longest, longest}, {"A.b_c-9", "0"}, {"x", ""}}) == "");
  CHECK(f.refused(labels(20)) == "");
  for (const Labels& wrong :
       {labels(21), Labels{{"", "a"}}, Labels{{longest + "a", "a"}}, Labels{{"a", longest + "a"}},
        Labels{{"-a", "a"}}, Labels{{"a.", "a"}}, Labels{{"example.com/a", "a"}},
        Labels{{"a", "a/b"}}, Labels{{"a", "b "}}, Labels{{"a\"", "b"}}, Labels{{"a", "\u00fc"}}}) {
    CHECK(f.refused(wrong) == "422 validation_failed");
    CHECK(refusal([&] { f.deploy(f.adas, labelled("new", wrong)); }) == "422 validation_failed");
  }
}

}  // namespace
