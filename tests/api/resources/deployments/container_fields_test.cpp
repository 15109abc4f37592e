// Every field of a container through the API, by its row.
#include <catch2/catch.hpp>
#include <iostream>

#include "api/gate/schema.h"
#include "controller/base/container_spec.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using deployments::container_fields;
using deployments::ContainerField;
using FieldKind = ContainerField::Kind;

const std::string apps_path = "/api/deploy/apps";

std::string last_field(const json& logs) {
  const json fields = logs.back()["details"]["fields"];
  return fields.size() == 1 ? fields[0].get<std::string>() : fields.dump();
}

}  // namespace

TEST_CASE("each field of a container can be set, is shown, and is changed and reset by PATCH") {
  Operator o;
  json order = json::parse(o.order());
  for (const ContainerField& field : container_fields)
    order[std::string(field.name)] = json::parse(field.in_change.example);
  const auto created = o.g.ask("POST", apps_path, {o.token}, order.dump());
  REQUIRE(created.status == 201);
  const auto plain = o.g.ask("POST", apps_path, {o.token}, o.order("plain"));
  const std::string path = apps_path + "/" + plain.body["id"].get<std::string>();
  int walked = 0;
  for (const ContainerField& field : container_fields) {
    INFO(field.name);
    const std::string name(field.name), shown(field.answered_as);
    const json example = json::parse(field.in_change.example);
    CHECK(created.body["deployment"][shown] == example);
    const json before = plain.body["deployment"][shown];
    const auto changed = o.g.ask("PATCH", path, {o.token}, json{{name, example}}.dump());
    CHECK(changed.status == 200);
    CHECK(changed.body["deployment"][shown] == example);
    CHECK(o.g.ask("GET", path, {o.token}).body[shown] == example);
    CHECK(last_field(o.g.ask("GET", path + "/logs", {o.token}).body["logs"]) == name);
    const auto reset = o.g.ask("PATCH", path, {o.token}, json{{name, nullptr}}.dump());
    CHECK(reset.status == 200);
    CHECK(reset.body[shown] == (field.is_removable() ? before : example));
    ++walked;
  }
  std::cout << "fields of a container, through the API: " << walked << "\n";
}

TEST_CASE("the schemas of a container's fields have the limits of their rows") {
  Operator o;
  for (const ContainerField& field : container_fields) {
    INFO(field.name);
    const std::string name(field.name);
    if (field.is_structure() || field.kind() == FieldKind::flag)
      continue;  // process_rules_test.cpp
    for (const char* schema : {"CreateDeploymentRequest", "ChangeDeploymentRequest"}) {
      const json published = all_schemas()[schema]["properties"][name];
      const json one = field.kind() == FieldKind::texts ? published["items"] : published;
      CHECK(one[field.kind() == FieldKind::number ? "maximum" : "maxLength"] == field.most);
    }
    CHECK(all_schemas()["Deployment"]["properties"].contains(std::string(field.answered_as)));
    json order = json::parse(o.order());
    const std::string longest(std::size_t(field.most) + 1, 'x');
    order[name] = field.kind() == FieldKind::number  ? json(field.most + 1)
                  : field.kind() == FieldKind::texts ? json::array({longest})
                                                     : json(longest);
    const auto refused = o.g.ask("POST", apps_path, {o.token}, order.dump());
    CHECK(refused.error() == "422 validation_failed");
    const json details = refused.body["error"]["details"];
    CHECK(details.size() == 1);
    CHECK(details.begin().key().starts_with(name));
  }
}
