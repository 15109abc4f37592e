// What a deployment's owner is told about an image that doesn't run.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

TEST_CASE("an image that doesn't run has a reason") {
  const Berthd berthd(open_flags());
  Operator ada = operator_with_token(berthd, "ada");
  struct Case {
    const char* image;
    const char* reason;
    const char* in_message;
  };
  const std::vector<Case> cases = {{"missing", "image_pull_failed", "missing"},
                                   {"crash", "crash_loop", "exited with code 1"},
                                   {"oom", "out_of_memory", "64 MB"},
                                   {"wrong-port", "port_not_listening", "4321"},
                                   {"needs-root", "image_needs_root", "ermission denied"},
                                   {"unschedulable", "unschedulable", "nodes"}};
  std::vector<std::string> ids;
  for (const Case& row : cases) {
    json wanted = order(row.image, std::string("docker.io/library/") + row.image + ":1");
    wanted["port"] = 4321;
    ids.push_back(deploy(ada.api, wanted));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].image);
    const json seen = wait_until_status(ada.api, ids[i], "errored");
    CHECK(seen.at("reason") == cases[i].reason);
    CHECK_THAT(seen.at("message").get<std::string>(), Catch::Contains(cases[i].in_message));
    CHECK(page_of(berthd, cases[i].image).status != 200);
    const json logs =
        expect(200, ada.api.get("/api/deploy/apps/" + ids[i] + "/logs")).body.at("logs");
    CHECK(logs.back().at("action") == "deploy");
    CHECK(logs.back().at("status") == "failed");
    CHECK(logs.back().at("details").at("reason") == cases[i].reason);
  }
}

TEST_CASE("a failing deployment can be deleted and its name used again") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const std::string bad = deploy(ada.api, order("shop", "ghcr.io/ada/crash:1"));
  wait_until_status(ada.api, bad, "errored");
  expect(200, ada.api.remove("/api/deploy/apps/" + bad));
  const std::string good = deploy(ada.api, order("shop", "ghcr.io/ada/shop:2"));
  wait_until_status(ada.api, good, "running");
  CHECK(page_of(berthd, "shop").status == 200);
}
