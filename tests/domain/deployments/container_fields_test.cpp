// Every field of a container, by its row: it is stored, changed, compared, limited, remembered by
// revisions and erased, without a word about it in the code that does that.
#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/dry_run.h"
#include "controller/domain/deployments/rollback.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Change;
using deployments::container_fields;
using deployments::ContainerField;
using deployments::ContainerSpec;
using nlohmann::json;
using Kind = ContainerField::Kind;

ContainerSpec with(ContainerSpec container, const ContainerField& field, const json& value) {
  set_value(container, field, value);
  return container;
}

Change change_of(const ContainerField& field, const json& value) {
  Change change;
  change.fields = {&field};
  set_value(change.container, field, value);
  return change;
}

json example_of(const ContainerField& field) { return json::parse(field.in_change.example); }

struct Fixture : DomainWorld {
  deployments::Deployment row = deploy(adas, order());

  void runs() {
    const auto now = find_deployment(row.id);
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    record(row.id, now.generation, seen);
  }
  std::string refused(const ContainerField& field, const json& value) {
    return refusal([&] { change(adas, row.id, change_of(field, value)); });
  }
};

TEST_CASE("each field of a container is stored, changed and told by its row") {
  int walked = 0;
  for (const ContainerField& field : container_fields) {
    INFO(field.name);
    Fixture f;
    f.runs();
    const ContainerSpec expected = with(f.row.container, field, example_of(field));
    REQUIRE(expected != f.row.container);
    const auto outcomes = f.write([&](db::Tx& tx) {
      return deployments::dry_run(
          tx, f.actor(f.adas),
          {{.order = {}, .id = f.row.id, .change = change_of(field, example_of(field))}}, f.rules,
          f.keys.data);
    });
    CHECK(outcomes[0].fields == std::vector<std::string>{std::string(field.name)});
    CHECK(outcomes[0].replaces_container == field.replaces_container);

    const auto changed = f.change(f.adas, f.row.id, change_of(field, example_of(field)));
    CHECK(changed.container == expected);
    CHECK(changed.generation == f.row.generation + (field.replaces_container ? 1 : 0));
    CHECK(json::parse(*f.logs(f.row.id).back().details)["fields"] == json{field.name});
    CHECK(f.change(f.adas, f.row.id, change_of(field, example_of(field))).generation ==
          changed.generation);

    deployments::Order wanted = order("other");
    wanted.container = expected;
    CHECK(f.deploy(f.adas, wanted).container == expected);

    ++walked;
    if (!field.replaces_container) continue;  // there is nothing to go back to
    f.runs();
    const auto back = f.write([&](db::Tx& tx) {
      return deployments::rollback(tx, f.actor(f.adas), f.row.id, {}, f.rules, f.keys.data);
    });
    CHECK(back.container == f.row.container);
  }
  std::cout << "fields of a container: " << walked << "\n";
  CHECK(walked >= 3);
}

TEST_CASE("a field is removed by null if its row says so, and keeps its column otherwise") {
  for (const ContainerField& field : container_fields) {
    INFO(field.name);
    Fixture f;
    f.change(f.adas, f.row.id, change_of(field, example_of(field)));
    if (field.kind() == Kind::text && !field.is_removable()) {
      CHECK(f.refused(field, nullptr) == "422 validation_failed");
      continue;
    }
    const auto removed = f.change(f.adas, f.row.id, change_of(field, nullptr));
    CHECK(value_of(removed.container, field) == value_of(ContainerSpec(), field));
  }
}

TEST_CASE("a container of a deleted deployment is its image and port") {
  Fixture f;
  deployments::Order wanted = order("other");
  for (const ContainerField& field : container_fields)
    set_value(wanted.container, field, example_of(field));
  const auto row = f.deploy(f.adas, wanted);
  CHECK(row.container == wanted.container);
  f.destroy(f.adas, row.id);
  CHECK(f.find_deployment(row.id).container ==
        ContainerSpec{.image = wanted.container.image, .port = wanted.container.port});
}

TEST_CASE("what is beyond the limits of a row is refused") {
  Fixture f;
  int limits = 0;
  for (const ContainerField& field : container_fields) {
    INFO(field.name);
    std::vector<json> wrong;
    if (field.kind() == Kind::number) wrong = {field.least - 1, field.most + 1};
    const std::string too_long(std::size_t(field.most) + 1, '/');
    if (field.kind() == Kind::text) wrong = {too_long};
    if (field.kind() == Kind::texts) {
      const std::string text(std::size_t(field.most), 'x');
      const std::size_t many = field.most_bytes / text.size() + 1;
      REQUIRE(many <= field.most_texts);
      wrong = {json{too_long},
               json(std::vector<std::string>(field.most_texts + 1, "x")),
               json(std::vector<std::string>(many, text)),
               json{std::string("a\0b", 3)},
               json{"a\x1b[2J"},
               json{"a\rb"}};
      CHECK(f.refused(field, json(std::vector<std::string>(field.most_texts, "x"))) == "");
      CHECK(f.refused(field, json{text}) == "");
      CHECK(f.refused(field, json{"set -e\n\texec run \"$@\"\n", " "}) == "");
      CHECK(f.find_deployment(f.row.id).container ==
            with(f.row.container, field, json{"set -e\n\texec run \"$@\"\n", " "}));
      CHECK(f.refused(field, nullptr) == "");
    }
    for (const json& value : wrong) {
      CHECK(f.refused(field, value) == "422 validation_failed");
      ++limits;
    }
  }
  std::cout << "values beyond the limits of a container: " << limits << "\n";
  CHECK(f.find_deployment(f.row.id).container == f.row.container);
}

}  // namespace
