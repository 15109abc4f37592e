// JSON bodies, checked against schemas.
#include "api/gate/body.h"

#include <array>

#include "api/gate/validator.h"
#include "controller/base/error.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

using nlohmann::json;

// Schemas with nested objects, formats, patterns, lists and numbers.
const auto& validators() {
  static const std::array all = {
      api::Validator("RegisterRequest"),       api::Validator("CreateDeploymentRequest"),
      api::Validator("CreateCampaignRequest"), api::Validator("CreateWebhookRequest"),
      api::Validator("CreateTierRequest"),     api::Validator("CreateAdPlacementRequest")};
  return all;
}

int depth_of(const json& value) {
  int deepest = 0;
  if (value.is_structured())
    for (const json& item : value) deepest = std::max(deepest, depth_of(item));
  return deepest + (value.is_structured() ? 1 : 0);
}

void look_at_deployment(const json& value) {
  hold(value.is_object() && value.at("name").is_string() && value.at("image").is_string(),
       "what fits the schema has the fields that handlers read");
}

}  // namespace

void run(std::string_view input) {
  json value;
  try {
    value = api::parse_body(input);
  } catch (const Error& error) {
    hold(error.code == Code::invalid_json, "what can't be read is invalid_json");
    return;
  }
  hold(std::size_t(depth_of(value)) <= api::max_json_depth, "the depth is limited");
  hold(api::parse_body(value.dump()) == value,
       "what was read is read again from what it is written as");
  for (const api::Validator& validator : validators())
    for (const auto& [field, reasons] : validator.check(value))
      hold(!field.empty() && !reasons.empty(), "a field that is wrong has a name and a reason");
  if (validators()[1].check(value).empty()) look_at_deployment(value);
}

}  // namespace berth::fuzz
