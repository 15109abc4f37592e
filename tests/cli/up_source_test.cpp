// `berth up FOLDER` and what belongs to it, against a berthd whose builder pretends.
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::TempDir;

namespace {

constexpr int failed = 1;
constexpr int usage = 2;
constexpr int invalid = 7;

berth::process::Flags building_flags() {
  auto flags = berth::process::open_flags();
  flags.insert(flags.end(), {"--simulated-builds", "on", "--max-source-size", "200k"});
  return flags;
}

const Berthd& shared() {
  static const Berthd berthd(building_flags());
  return berthd;
}

const std::string containerfile = "FROM scratch\nCOPY . /\nEXPOSE 8080/tcp\n";

struct Folder : TempDir {
  std::filesystem::path path = TempDir::path() / "My Shop";
  Folder() { put("Containerfile", containerfile); }
  void put(const std::string& name, const std::string& text) const {
    write("My Shop/" + name, text);
  }
};

}  // namespace

TEST_CASE("a folder with a Containerfile is built and deployed, and then changed") {
  const Person ada(shared());
  ada.settle_in("ada");
  const Folder folder;
  const Ran first = ada.berth({"up", folder.path.string(), "-o", "json"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json row = first.body().at("deployments").at(0);
  CHECK(row.at("name") == "my-shop");
  CHECK(row.at("port") == 8080);
  CHECK(row.at("status") == "running");
  const std::string image = row.at("container_image");
  CHECK(image.starts_with("localhost/"));

  const Ran again = ada.berth({"up", folder.path.string(), "--port", "9000"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(again.err.find("STEP 1/3: FROM scratch") != std::string::npos);
  const json now = ada.must({"deploy", "get", "my-shop", "-o", "json"}).body();
  CHECK(now.at("port") == 9000);
  CHECK(now.at("container_image") != image);

  const json builds = ada.must({"builds", "list", "-o", "json"}).body().at("builds");
  REQUIRE(builds.size() == 2);
  const std::string id = builds.at(0).at("id");
  CHECK(ada.must({"builds", "logs", id}).out.find("STEP 3/3: EXPOSE 8080/tcp") !=
        std::string::npos);
  CHECK(ada.must({"builds", "logs", id, "--follow"}).out.find("COMMIT") != std::string::npos);
  CHECK(ada.must({"builds", "get", id, "-o", "json"}).body().at("build").at("status") ==
        "succeeded");
  CHECK(ada.berth({"builds", "get", "none"}).code == usage);
}

TEST_CASE("a berth.yaml says what the folder's deployment is, without its image") {
  const Person ada(shared());
  ada.settle_in("bea");
  const Folder folder;
  folder.put("berth.yaml", "name: from-file\nport: 4000\nenv_vars: {COLOR: blue}\n");
  ada.must({"up", folder.path.string()});
  const json row = ada.must({"deploy", "get", "from-file", "-o", "json"}).body();
  CHECK(row.at("port") == 4000);
  CHECK(row.at("env_keys") == json::array({"COLOR"}));
  folder.put("berth.yaml", "deployments:\n- {name: a}\n- {name: b}\n");
  CHECK(ada.berth({"up", folder.path.string()}).code == usage);
}

TEST_CASE("a folder without instructions, or with too much, is explained before anything is sent") {
  const Person ada(shared());
  ada.settle_in("cleo");
  const TempDir empty;
  const Ran nothing = ada.berth({"up", empty.path().string()});
  CHECK(nothing.code == usage);
  CHECK(nothing.err.find("no Containerfile or Dockerfile") != std::string::npos);
  for (const char* name : {"node", "python", "static"})
    CHECK(nothing.err.find(name) != std::string::npos);
  CHECK(ada.berth({"up", (empty / "none").string()}).code == usage);

  const Folder folder;
  std::string noise;
  std::uint32_t number = 1;
  for (int i = 0; i < 400'000; ++i) {
    number = number * 1'664'525U + 1'013'904'223U;
    noise += char(number >> 24);
  }
  folder.put("data/big.bin", noise);
  folder.put(".git/config", noise);
  const Ran large = ada.berth({"up", folder.path.string()});
  CHECK(large.code == usage);
  CHECK(large.err.find("the server takes 0.2 MB") != std::string::npos);
  CHECK(large.err.find("data/big.bin, 0.4 MB") != std::string::npos);
  CHECK(large.err.find(".git") == std::string::npos);
  folder.put(".containerignore", "data\n");
  std::filesystem::create_symlink("/etc/passwd", folder.path / "outside");
  std::filesystem::create_symlink("Containerfile", folder.path / "inside");
  const Ran dry = ada.berth({"up", folder.path.string(), "--dry-run", "-o", "json"});
  CHECK(dry.code == 0);
  CHECK(dry.err.find("outside leads out of the folder") != std::string::npos);
  CHECK(dry.body().at("files") == 2);  // the Containerfile and the .containerignore
  CHECK(ada.berth({"up", folder.path.string(), "--name", "cleo-shop"}).code == 0);
}

TEST_CASE("instructions elsewhere in the folder are taken by name") {
  const Person ada(shared());
  ada.settle_in("dora");
  const Folder folder;
  folder.put("docker/prod", "FROM scratch\nENV PROD=1\n");
  const Ran built =
      ada.berth({"up", folder.path.string(), "--containerfile", "docker/prod", "--name", "prod"});
  INFO(built.err);
  CHECK(built.code == 0);
  CHECK(built.err.find("STEP 2/2: ENV PROD=1") != std::string::npos);
}

TEST_CASE("a build that fails ends the command with its reason, and deploys nothing") {
  const Person ada(shared());
  ada.settle_in("emma");
  const Folder folder;
  folder.put("Containerfile", "FROM scratch\nRUN exit 7\n");
  const Ran ran = ada.berth({"up", folder.path.string(), "--name", "never"});
  CHECK(ran.code == failed);
  CHECK(ran.err.find("exit code 7") != std::string::npos);
  CHECK(ran.err.find("berth builds logs ") != std::string::npos);
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").empty());
  CHECK(ada.berth({"up", folder.path.string(), "--tier", "fre"}).code == invalid);
}

TEST_CASE("a signal cancels the build on the server") {
  const Person ada(shared());
  ada.settle_in("fay");
  const Folder folder;
  folder.put("Containerfile", "FROM scratch\nRUN sleep 600\n");
  const auto running = ada.start({"up", folder.path.string(), "--name", "long"});
  while (running->err().find("RUN sleep") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  running->interrupt();
  const Ran ran = running->wait();
  CHECK(ran.code == failed);
  CHECK(ran.err.find("the build was cancelled") != std::string::npos);
  const json builds = ada.must({"builds", "list", "-o", "json"}).body().at("builds");
  CHECK(builds.at(0).at("status") == "cancelled");
}

TEST_CASE("a server that builds nothing, and a build on this machine") {
  const Person ada(berth::process::shared_berthd());
  ada.settle_in(berth::process::fresh_name("gwen"));
  const Folder folder;
  const Ran refused = ada.berth({"up", folder.path.string()});
  CHECK(refused.code == invalid);
  CHECK(refused.err.find("--local") != std::string::npos);

  // A program that writes down how it was called stands for docker.
  const TempDir programs;
  programs.script("docker", R"(echo "$@" >> )" + (programs / "calls").string() + R"(
case $1 in image) echo docker.io/library/x@sha256:)" +
                                std::string(64, 'a') + R"( ;; esac
)");
  const std::string path = programs.path().string() + ":/usr/bin:/bin";
  CHECK(ada.berth({"up", folder.path.string(), "--local", "--with", "docker"}, "", {{"PATH", path}})
            .code == usage);
  const Ran local =
      ada.berth({"up", folder.path.string(), "--local", "--with", "docker", "--push-to",
                 "docker.io/library/x", "--name", berth::process::fresh_name("local")},
                "", {{"PATH", path}});
  INFO(local.err);
  CHECK(local.code == 0);
  const std::string calls = programs.read("calls");
  CHECK(calls.find("build --file ") == 0);
  CHECK(calls.find("\npush docker.io/library/x:berth-") != std::string::npos);
}

TEST_CASE("a template is written once, and is one that berthd takes") {
  const Person ada(shared());
  ada.settle_in("hanna");
  for (const char* name : {"node", "python", "static"}) {
    const Ran text = ada.must({"init", "--template", name, "--file", "-"});
    const Folder folder;
    folder.put("Containerfile", text.out);
    const Ran built = ada.berth({"up", folder.path.string(), "--name", name});
    INFO(built.err);
    CHECK(built.code == 0);
    CHECK(ada.must({"deploy", "get", name, "-o", "json"}).body().at("port") == 3000);
    ada.must({"deploy", "delete", name, "--yes"});
  }
  CHECK(ada.berth({"init", "--template", "cobol"}).code == usage);
  CHECK(ada.berth({"init"}).code == usage);
  CHECK(ada.berth({"init", "--template", "node", "docker.io/library/hello:1"}).code == usage);
}
