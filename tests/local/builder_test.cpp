// Builds by real podman: what a step may do, what ends it, and what is left of it.
#include "reconcilers/embedded/node/podman/builder.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <thread>

#include "controller/base/source_archive.h"
#include "reconcilers/embedded/node/process.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::embedded;
using namespace berth::test;
using namespace std::chrono_literals;

namespace {

const std::string app = "01936f5e-7c1a-7000-8000-000000000002";
const std::string busybox = "/bin/busybox";

struct Builds {
  Node node;
  TempDir dir;
  std::unique_ptr<Builder> builder = podman::make_builder(
      {.socket = podman::socket_of(node.options()), .directory = node.directory()});
  std::string log;
  std::chrono::seconds time{120};
  std::int64_t image_bytes = 500'000'000;
  std::int64_t memory_bytes = 128 << 20;

  // The base image of the tests: Debian's busybox, and what a root file system needs.
  Builds() {
    builder->clean_up();
    const auto file = dir / "base.tar";
    source::Writer writer(file, source::Compression::none);
    for (const char* path : {"bin", "dev", "etc", "proc", "run", "sys", "tmp"})
      writer.add({.type = source::Entry::Type::directory, .path = path, .target = {}});
    writer.add({.path = "bin/busybox", .is_executable = true, .target = {}}, contents(busybox));
    for (const char* name :
         {"cat", "chown", "grep", "id", "ls", "nc", "sh", "sleep", "tail", "touch", "dd"})
      writer.add({.type = source::Entry::Type::link,
                  .path = std::string("bin/") + name,
                  .target = "busybox"});
    writer.close();
    const auto imported =
        node.podman("POST", "/images/import?reference=docker.io/library/base:1", contents(file));
    REQUIRE(imported.good());
  }

  static std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Built build(const std::string& id, const std::string& text, std::stop_token stop = {}) {
    const auto file = dir / ("source-" + id);
    source::Writer writer(file, source::Compression::gzip);
    writer.add({.path = "Containerfile", .target = {}}, text);
    writer.add({.path = "hello", .target = {}}, "hello\n");
    writer.close();
    log.clear();
    return builder->build(
        {.id = id,
         .source = file,
         .repository = "localhost/" + app + "/shop",
         .limits = {.time = time,
                    .cpu_millicores = 1000,
                    .memory_bytes = memory_bytes,
                    .image_bytes = image_bytes},
         .registries = {"docker.io/library"}},
        [this](std::string_view piece) { log += piece; }, std::move(stop));
  }
  bool says(const std::string& text) const { return log.find(text) != std::string::npos; }
};

// Whether a program with this argument runs on the machine.
bool runs(const std::string& argument) {
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    const std::string words = Builds::contents(each.path() / "cmdline");
    if (words.starts_with("sleep") && words.find(argument) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a build makes an image, within limits and cut off from the machine", "[podman]") {
  NEEDS_PODMAN
  if (!std::filesystem::exists(busybox)) return;
  Builds b;
  const std::string text =
      "FROM base:1\nCOPY hello /hello\n"
      "RUN cat /proc/self/uid_map; touch /x && chown 1000 /x && ls -ln /x; grep CapEff "
      "/proc/self/status; cat /etc/resolv.conf; for a in 10.207.255.1 169.254.169.254; do nc -w 1 "
      "$a 80 </dev/null 2>&1; done; grep processes /proc/self/limits\n"
      "USER 1000\nCMD [\"/bin/sleep\", \"60\"]\n";
  const Built built = b.build("one", text);
  INFO(b.log << built.message);
  REQUIRE(built.kind == Built::Kind::built);
  CHECK(built.image.starts_with("localhost/" + app + "/shop@sha256:"));
  CHECK(built.image_bytes > 0);
  CHECK(b.says("         0          0      65536"));  // a user namespace of its own
  CHECK(b.says("    1 1000     0"));                  // whose root may change owners
  CHECK(b.says("CapEff:\t00000000800400fb"));
  CHECK(b.says("nameserver 10.207.255.1"));
  CHECK(b.says("1024"));
  CHECK(b.node.podman("GET", "/images/" + app + "/json").status == 404);

  // The rules that keep builds from the machine are set again for the next build.
  const auto has_rules = [] {
    return embedded::run({.args = {"nft", "list", "table", "inet", "berth_builds"},
                          .env = plain_environment()})
        .good();
  };
  const bool can_have_rules = has_rules();
  embedded::run(
      {.args = {"nft", "delete", "table", "inet", "berth_builds"}, .env = plain_environment()});
  CHECK_FALSE(has_rules());

  // What didn't change is taken from the cache, and the image is another one all the same.
  const Built again = b.build("two", text);
  CHECK(b.says("Using cache"));
  CHECK(has_rules() == can_have_rules);
  CHECK(again.image != built.image);
  CHECK(b.builder->images().size() == 2);
  b.builder->remove(built.image);
  b.builder->remove(built.image);
  CHECK(b.builder->images() == std::vector{again.image});
}

TEST_CASE("a build that fails, needs too much or takes too long says so", "[podman]") {
  NEEDS_PODMAN
  if (!std::filesystem::exists(busybox)) return;
  Builds b;
  const Built failed = b.build("fails", "FROM base:1\nRUN exit 3\n");
  CHECK(failed.failure == BuildFailure::build_failed);
  CHECK(failed.message.find("exit status 3") != std::string::npos);
  CHECK(b.build("base", "FROM none:1\n").failure == BuildFailure::image_pull_failed);
  CHECK(b.build("words", "FROM base:1\nADD https://example.org /x\n").failure ==
        BuildFailure::containerfile_wrong);
  b.memory_bytes = 64 << 20;
  const Built killed =
      b.build("memory", "FROM base:1\nRUN tail -c 400000000 /dev/zero >/dev/null\n");
  INFO(b.log << killed.message);
  CHECK(killed.failure == BuildFailure::out_of_memory);
  b.memory_bytes = 512 << 20;
  b.image_bytes = 40'000'000;
  const Built large = b.build("large",
                              "FROM base:1\nRUN for i in 1 2 3; do dd if=/dev/zero of=/b$i bs=1M "
                              "count=30; done; sleep 86420\n");
  CHECK(large.failure == BuildFailure::out_of_room);
  CHECK(large.message.find("twice what an image may have") != std::string::npos);
  b.time = 4s;
  // What somebody else writes isn't the build's.
  std::jthread others([&] {
    std::this_thread::sleep_for(1s);
    std::ofstream out(b.dir / "others", std::ios::binary);
    for (int written = 0; written < 200; ++written) out << std::string(1 << 20, 'x');
  });
  // Nothing in the Containerfile hides a step from berth.
  CHECK(b.build("slow", "FROM base:1\nENV BERTH_APP=x\nRUN sleep 97531\n").failure ==
        BuildFailure::timed_out);
  CHECK_FALSE(runs("97531"));
  CHECK(b.builder->images().empty());
}

TEST_CASE("a build is stopped, and what a killed process has left is removed", "[podman]") {
  NEEDS_PODMAN
  if (!std::filesystem::exists(busybox)) return;
  Builds b;
  std::stop_source stop;
  std::jthread waiting([&] {
    for (int i = 0; i < 300 && !runs("86420"); ++i) std::this_thread::sleep_for(100ms);
    stop.request_stop();
  });
  CHECK(b.build("stop", "FROM base:1\nRUN sleep 86420\n", stop.get_token()).kind ==
        Built::Kind::stopped);
  CHECK_FALSE(runs("86420"));
  b.builder->clean_up();
  const auto left = b.node.podman("GET", "/containers/json?all=true&external=true");
  CHECK(left.body.find("buildah") == std::string::npos);
}
