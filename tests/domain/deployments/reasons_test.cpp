// Checks that docs/reference/reasons.md explains every reason.
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/runs/crons.h"
#include "tests/programs.h"

namespace {

using namespace berth;

std::string document() {
  std::ifstream file(std::string(berth::test::source_dir) + "/docs/reference/reasons.md");
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the first cells of the table below this heading. All three cells of a row must be filled.
std::set<std::string> explained(const std::string& heading) {
  const std::string text = document();
  std::set<std::string> names;
  std::istringstream lines(text.substr(text.find("## " + heading) + 3));
  for (std::string line; std::getline(lines, line) && !line.starts_with("## ");) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::string name, meaning, advice;
    std::getline(cells, name, '|');
    std::getline(cells, meaning, '|');
    std::getline(cells, advice, '|');
    INFO(line);
    CHECK(meaning.size() > 10);
    CHECK(advice.size() > 10);
    names.insert(name.substr(2, name.rfind('`') - 2));
  }
  return names;
}

template <typename Reason>
std::set<std::string> all_of() {
  constexpr auto texts = texts_of(Reason());
  return {texts.begin(), texts.end()};
}

TEST_CASE("each reason of a deployment is explained") {
  const auto names = all_of<deployments::Reason>();
  CHECK(names.contains("rollout_failed"));
  CHECK(explained("Why isn't it running?") == names);
}

TEST_CASE("each reason of a run, and of a minute without one, is explained") {
  auto names = all_of<runs::Reason>();
  names.merge(all_of<crons::Skipped>());
  CHECK(explained("Why did a command fail?") == names);
}

TEST_CASE("each reason of an entry about money or admins is explained") {
  CHECK(explained("Why was it suspended, or started again?") ==
        std::set<std::string>{"insufficient_balance", "paid", "budget_reached", "budget_left",
                              "suspended_by_admin", "reactivated_by_admin"});
}

TEST_CASE("each reason of the sandbox's status is explained") {
  CHECK(explained("Why can't I have a free deployment?") ==
        std::set<std::string>{"deployment_limit_reached", "tier_not_found"});
}

TEST_CASE("each reason why an impression isn't paid is explained") {
  CHECK(explained("Why was an impression not paid?") ==
        std::set<std::string>{"not_served", "replayed", "expired", "foreign_token",
                              "campaign_not_active", "viewer_cap", "no_impression"});
}

TEST_CASE("each reason of a custom domain is explained") {
  CHECK(explained("Why isn't my domain served?") == all_of<custom_domains::Reason>());
}

}  // namespace
