// The client's berth.yaml, and files of variables.
#include "cli/deploy_plan.h"

#include "cli/env_file.h"
#include "cli/failure.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

void parse_deployments(const std::string& text) {
  try {
    for (const auto& order : cli::parse_orders(text, "berth.yaml")) {
      hold(order.at("name").is_string() && order.at("image").is_string(),
           "an order has a name and an image");
      cli::describe(cli::plan_for(order, nullptr));
    }
  } catch (const cli::Failure& failure) {
    hold(failure.exit == cli::Exit::usage, "what can't be understood is a mistake of usage");
  }
}

void parse_variables(const std::string& text) {
  try {
    const nlohmann::json variables = cli::parse_env_file(text, "variables");
    for (const auto& [name, value] : variables.items())
      hold(!name.empty() && value.is_string(), "variables are texts");
  } catch (const cli::Failure& failure) {
    hold(failure.exit == cli::Exit::usage, "what can't be understood is a mistake of usage");
  }
}

}  // namespace

void run(std::string_view input) {
  const std::string text(input);
  parse_deployments(text);
  parse_variables(text);
}

}  // namespace berth::fuzz
