// Builds of images with a berthd whose builder only pretends (simulated-builds), so that what is
// around it can be seen: sources, logs, cancellation, kills and costs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/base/source_archive.h"
#include "tests/process/event_client.h"
#include "tests/process/raw.h"

using namespace berth::process;
namespace source = berth::source;

namespace {

Flags building_flags(const Flags& more = {}) {
  Flags flags = roomy_tier();
  flags.insert(flags.end(), {"--rate-limits", "off", "--simulated-builds", "on"});
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// A tier on which a minute of building costs 5 points.
Flags paid_flags() {
  return {"--rate-limits",
          "off",
          "--simulated-builds",
          "on",
          "--tiers",
          "[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
          "max-deployments: 10, auto-approve: true, build-points-per-minute: 5}]"};
}

std::string archive(const std::string& containerfile, const std::string& more = "") {
  const TempDir dir;
  source::Writer writer(dir / "source", source::Compression::gzip);
  if (!containerfile.empty()) writer.add({.path = "Containerfile", .target = {}}, containerfile);
  if (!more.empty()) writer.add({.path = "more", .target = {}}, more);
  writer.close();
  return dir.read("source");
}

const std::string quick = "FROM scratch\nCOPY more /more\n";

struct Builder {
  Operator owner;

  Builder(const Berthd& berthd, const std::string& name)
      : owner(operator_with_token(berthd, fresh_name(name))) {}

  Answer send(const std::string& path, const std::string& body) {
    return owner.api.ask({.method = "POST",
                          .path = path,
                          .body = body,
                          .headers = {{"Content-Type", "application/x-tar"}}});
  }
  Answer ask(const std::string& containerfile, const std::string& name = "shop") {
    return send("/api/deploy/builds?tier=free&name=" + name, archive(containerfile, "x"));
  }
  std::string begin(const std::string& containerfile, const std::string& name = "shop") {
    return expect(201, ask(containerfile, name)).body.at("build").at("id");
  }
  json get(const std::string& id) {
    return expect(200, owner.api.get("/api/deploy/builds/" + id)).body.at("build");
  }
  json wait(const std::string& id, const std::string& status) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      const json build = get(id);
      if (build.at("status") == status) return build;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("the build isn't " + status + ": " + get(id).dump());
  }
  std::string log(const std::string& id) {
    return expect(200, owner.api.get("/api/deploy/builds/" + id + "/logs")).text;
  }
};

// What the builds' directory has besides logs.
std::vector<std::string> sources(const Berthd& berthd) {
  std::vector<std::string> found;
  for (const auto& each :
       std::filesystem::recursive_directory_iterator(berthd.data_dir() / "builds"))
    if (each.is_regular_file() && each.path().filename() != "log")
      found.push_back(each.path().string());
  return found;
}

const Berthd& shared() {
  static const Berthd berthd(building_flags({"--max-source-size", "3M"}));
  return berthd;
}

}  // namespace

TEST_CASE("an image is built from source, is deployed by its app alone, and has a log") {
  Builder ada(shared(), "ada");
  const Answer asked = expect(201, ada.ask(quick, "first"));
  const json build = asked.body.at("build");
  CHECK(build.at("image") == "localhost/" + ada.owner.app.id + "/first");
  const json built = ada.wait(build.at("id"), "succeeded");
  const std::string image = built.at("image");
  CHECK(image.starts_with("localhost/" + ada.owner.app.id + "/first@sha256:"));
  CHECK(ada.log(build.at("id")).starts_with("STEP 1/2: FROM scratch\nSTEP 2/2: COPY more /more\n"));
  CHECK(sources(shared()).empty());

  const std::string id = deploy(ada.owner.api, order(fresh_name("first"), image));
  wait_until_status(ada.owner.api, id, "running");
  Builder bob(shared(), "bob");
  CHECK(bob.owner.api.post("/api/deploy/apps", order(fresh_name("bob"), image)).code() ==
        "unsupported_registry");
  CHECK(bob.owner.api.get("/api/deploy/builds/" + build.at("id").get<std::string>()).status == 403);
  CHECK(bob.owner.api.get("/api/deploy/builds/" + nobody).code() == "build_not_found");

  // The next one is the deployment's.
  const Answer next = expect(201, ada.send("/api/deploy/apps/" + id + "/builds", archive(quick)));
  const std::string next_id = next.body.at("build").at("id");
  ada.wait(next_id, "succeeded");
  const json list = expect(200, ada.owner.api.get("/api/deploy/apps/" + id + "/builds")).body;
  CHECK(list.at("builds").size() == 1);
  CHECK(list.at("limits").at("source_bytes") == 3'000'000);
  CHECK(expect(200, ada.owner.api.get("/api/deploy/builds")).body.at("builds").size() == 2);
  CHECK(ada.owner.api.get("/api/deploy/apps/" + id + "/builds/" + next_id).status == 200);
  CHECK(ada.owner.api.get("/api/deploy/apps/" + id + "/builds/" + build.at("id").get<std::string>())
            .code() == "build_not_found");
  CHECK(bob.send("/api/deploy/apps/" + id + "/builds", archive(quick)).code() == "forbidden");
}

TEST_CASE("a build that fails says why, in its status and its log") {
  Builder ada(shared(), "ada");
  for (const auto& [text, reason, words] : std::vector<std::array<std::string, 3>>{
           {"FROM scratch\nRUN exit 3\n", "build_failed", "exit code 3"},
           {"FROM quay.io/x/y\n", "containerfile_wrong", "registry of a base image"},
           {"FROM scratch\nADD http://169.254.169.254/ /x\n", "containerfile_wrong", "ADD"},
           {"FROM scratch\nRUN --mount=type=bind,src=/ true\n", "containerfile_wrong",
            "--mount"}}) {
    const std::string id = ada.begin(text);
    const json build = ada.wait(id, "failed");
    CHECK(build.at("reason") == reason);
    CHECK(build.at("message").get<std::string>().find(words) != std::string::npos);
    CHECK(ada.log(id).find(words) != std::string::npos);
  }
}

TEST_CASE("a source that isn't one is refused, and nothing of it stays") {
  Builder ada(shared(), "ada");
  CHECK(ada.send("/api/deploy/builds?tier=free&name=x", "").code() == "malformed_request");
  CHECK(ada.send("/api/deploy/builds?tier=free&name=x", "no archive").code() ==
        "malformed_request");
  const Answer without = ada.send("/api/deploy/builds?tier=free&name=x", archive("", "x"));
  CHECK(without.code() == "malformed_request");
  CHECK(without.text.find("no Containerfile") != std::string::npos);
  CHECK(ada.send("/api/deploy/builds?tier=free", archive(quick)).code() == "validation_failed");
  CHECK(ada.send("/api/deploy/builds?tier=none&name=x", archive(quick)).code() == "unknown_tier");
  CHECK(ada.send("/api/deploy/apps/" + nobody + "/builds", archive(quick)).code() ==
        "deployment_not_found");
  CHECK(sources(shared()).empty());
}

TEST_CASE("a source may be larger than other bodies, up to its limit, in chunks too",
          "[pool:uploads]") {
  Builder ada(shared(), "ada");
  // Random bytes can't be compressed.
  const auto of = [](size_t bytes) {
    std::string noise;
    for (size_t i = 0; i < bytes; i += 32) noise += berth::sha256(std::to_string(i));
    return archive(quick, noise);
  };
  const std::string large = of(2'500'000);
  REQUIRE(large.size() > 2'000'000);
  const Answer taken = expect(201, ada.send("/api/deploy/builds?tier=free&name=large", large));
  ada.wait(taken.body.at("build").at("id"), "succeeded");
  CHECK(taken.body.at("build").at("source_bytes") == large.size());
  CHECK(ada.send("/api/deploy/builds?tier=free&name=large", of(3'100'000)).status == 413);
  CHECK(sources(shared()).empty());

  // Somebody without a token is refused before they have sent anything.
  const Raw raw(shared().port());
  REQUIRE(
      raw.send("POST /api/deploy/builds?tier=free&name=x HTTP/1.1\r\nHost: x\r\n"
               "Content-Length: 3000000\r\nExpect: 100-continue\r\n\r\n"));
  CHECK(raw.receive().starts_with("HTTP/1.1 401"));
  const Raw known(shared().port());
  REQUIRE(
      known.send("POST /api/deploy/builds?tier=free&name=x HTTP/1.1\r\nHost: x\r\n"
                 "Authorization: Bearer " +
                 ada.owner.tokens.access_token +
                 "\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"));
  CHECK(known.receive().starts_with("HTTP/1.1 100"));
  const std::string small = archive(quick);
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", small.size());
  REQUIRE(known.send(size + small + "\r\n0\r\n\r\n"));
  CHECK(known.receive().starts_with("HTTP/1.1 201"));
}

TEST_CASE("a log is followed to its end, with the status at both ends, and resumed") {
  Builder ada(shared(), "ada");
  const std::string id = ada.begin("FROM scratch\nRUN sleep 1\nENV A=1\n");
  EventClient follower(shared(), "/api/deploy/builds/" + id + "/logs?follow=true",
                       ada.owner.tokens.access_token);
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto is_over = [&] {
    for (const auto& event : follower.events())
      if (event.name == "status" && event.data.find("succeeded") != std::string::npos) return true;
    return false;
  };
  while (!is_over() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(is_over());
  std::vector<std::string> lines;
  for (const auto& event : follower.events())
    if (event.name != "status") lines.push_back(event.data);
  REQUIRE(lines.size() >= 4);
  CHECK(lines[0] == "STEP 1/3: FROM scratch");
  CHECK(lines[2] == "STEP 3/3: ENV A=1");
  // Bob can't read it.
  Builder bob(shared(), "bob");
  CHECK(bob.owner.api.get("/api/deploy/builds/" + id + "/logs").status == 403);
}

TEST_CASE("a build that waits and one that runs are cancelled") {
  Builder ada(shared(), "ada");
  const std::string first = ada.begin("FROM scratch\nRUN sleep 600\n");
  const std::string second = ada.begin(quick);
  ada.wait(first, "building");
  CHECK(ada.get(second).at("status") == "queued");
  expect(200, ada.owner.api.remove("/api/deploy/builds/" + second));
  CHECK(ada.get(second).at("status") == "cancelled");
  expect(200, ada.owner.api.remove("/api/deploy/builds/" + first));
  ada.wait(first, "cancelled");
  CHECK(ada.log(first).find("cancelled") != std::string::npos);
  expect(200, ada.owner.api.remove("/api/deploy/builds/" + first));
}

TEST_CASE("a berthd that builds nothing says what to do instead") {
  Builder ada(shared_berthd(), "ada");
  const Answer refused = ada.ask(quick);
  CHECK(refused.code() == "builds_unavailable");
  CHECK(refused.text.find("--local") != std::string::npos);
  CHECK(expect(200, ada.owner.api.get("/api/deploy/builds")).body.at("limits").is_null());
}

TEST_CASE("a build whose berthd is killed has failed, costs nothing, and leaves nothing") {
  Berthd berthd(paid_flags());
  Builder ada(berthd, "ada");
  expect(201,
         Client(berthd).ask({.method = "POST",
                             .path = "/api/internal/points/mint",
                             .body = json{{"account", {{"kind", "app"}, {"id", ada.owner.app.id}}},
                                          {"amount", 1000},
                                          {"reason", "test"}}
                                         .dump(),
                             .headers = admin(berthd)}));
  const auto balance = [&] {
    json result;
    const Answer answer = Client(berthd).ask(
        {.method = "GET", .path = "/api/internal/ledger/audit", .headers = admin(berthd)});
    CHECK(expect(200, answer).body.at("ok") == true);
    return expect(200, ada.owner.api.get("/api/deploy/builds")).body.at("builds");
  };
  std::string charged;
  for (int round = 0; round < 3; ++round) {
    const std::string running = ada.begin("FROM scratch\nRUN sleep 600\n");
    const std::string waiting = ada.begin(quick);
    ada.wait(running, "building");
    if (round == 2)
      CHECK(berthd.terminate() == 0);
    else
      berthd.kill();
    berthd.start();
    const json build = ada.wait(running, "failed");
    CHECK(build.at("reason") == "interrupted");
    CHECK(build.at("points") == 0);
    // What waited is built now, and charged once.
    CHECK(ada.wait(waiting, "succeeded").at("points") == 5);
  }
  std::int64_t points = 0;
  for (const json& build : balance()) points += build.at("points").get<std::int64_t>();
  CHECK(points == 15);
  CHECK(sources(berthd).empty());
}
