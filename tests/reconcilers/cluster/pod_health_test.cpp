#include "reconcilers/cluster/pod_health.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace berth::reconcilers;
using namespace std::chrono_literals;

namespace {

const Instant now = *parse_iso8601("2026-05-01T12:00:00Z");

ObjectPtr pod(const std::string& process, bool started, bool ready) {
  Object made = {{"metadata", {{"name", process}, {"labels", {{"berth/process", process}}}}},
                 {"status",
                  {{"conditions",
                    Object::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
  if (started)
    made["status"]["containerStatuses"] = Object::array(
        {{{"name", "app"}, {"state", {{"running", {{"startedAt", "2026-05-01T11:59:00Z"}}}}}}});
  return std::make_shared<const Object>(std::move(made));
}

std::optional<bool> is_healthy(const std::vector<ObjectPtr>& pods) {
  const auto health = health_of(pods, now, 1s);
  return health ? std::optional(health->ready) : std::nullopt;
}

}  // namespace

TEST_CASE("a deployment is healthy while a container of each process is") {
  CHECK_FALSE(is_healthy({}));
  CHECK_FALSE(is_healthy({pod("web", false, false)}));
  CHECK(is_healthy({pod("web", true, true)}) == true);
  CHECK(is_healthy({pod("web", true, false)}) == false);
  // One of three is enough, whichever comes first.
  CHECK(is_healthy({pod("web", true, false), pod("web", true, true), pod("web", false, false)}) ==
        true);
  CHECK(is_healthy({pod("web", true, true), pod("worker", true, true)}) == true);
  CHECK(is_healthy({pod("web", true, true), pod("worker", true, false)}) == false);
  // Nothing of web has been started, whatever the worker does.
  CHECK(is_healthy({pod("web", false, false), pod("worker", true, true)}) == false);
  CHECK(health_of({pod("web", true, true)}, now, 1s)->age == 1s);
}

TEST_CASE("pods of runs say nothing about a deployment's health") {
  Object run = *pod("web", true, false);
  run["metadata"]["labels"] = {{"berth/run", "r-1"}};
  const auto of_run = std::make_shared<const Object>(std::move(run));
  CHECK_FALSE(is_healthy({of_run}));
  CHECK(is_healthy({of_run, pod("web", true, true)}) == true);
}
