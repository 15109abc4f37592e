#include <arpa/inet.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/base/descriptor.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/process.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using embedded::Pull;
using embedded::PullPolicy;
using nlohmann::json;
using Stage = embedded::RunState::Stage;

namespace {

// docker-registry with the user `somebody` and the password `correct`.
class Registry {
 public:
  explicit Registry(const TempDir& dir) {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    dir.write(
        "registry.yaml",
        "version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: " +
            (dir / "registry").string() + "}\nhttp: {addr: \"127.0.0.1:" + std::to_string(port_) +
            "\"}\nauth:\n  htpasswd: {realm: test, path: " + (dir / "htpasswd").string() + "}\n");
  }
  void start(const TempDir& dir) {
    daemon_ = embedded::start_daemon({.args = {"docker-registry", "serve", dir / "registry.yaml"},
                                      .env = embedded::plain_environment(),
                                      .log = dir / "registry.log",
                                      .directory = dir.path()});
  }
  ~Registry() { embedded::end(daemon_, 2s); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  embedded::Daemon daemon_;
};

}  // namespace

TEST_CASE("podman's errors become a kubelet's words", "[words]") {
  using namespace embedded::podman;
  const std::string image = "registry.example/a/b:1";
  const std::string begin = "failed to pull and unpack image \"registry.example/a/b:1\": ";
  const std::string resolve = begin + "failed to resolve reference \"registry.example/a/b:1\": ";
  struct Case {
    std::string words;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"initializing source docker://registry.example/a/b:1: reading manifest 1 in "
       "registry.example/a/b: manifest unknown",
       "rpc error: code = NotFound desc = " + resolve + "registry.example/a/b:1: not found"},
      {"initializing source docker://registry.example/a/b:1: reading manifest 1 in "
       "registry.example/a/b: name unknown: repository name not known to registry",
       "rpc error: code = NotFound desc = " + resolve + "registry.example/a/b:1: not found"},
      {"initializing source docker://registry.example/a/b:1: reading manifest 1 in "
       "registry.example/a/b: unauthorized: authentication required",
       "rpc error: code = Unknown desc = " + resolve +
           "pull access denied, repository does not exist or may require authorization: "
           "authorization failed: no basic auth credentials"},
      {"reading manifest 1 in docker.io/a/b: toomanyrequests: You have reached your pull rate "
       "limit",
       "rpc error: code = Unknown desc = " + begin +
           "failed to copy: httpReadSeeker: failed open: unexpected status code "
           "https://registry.example/v2/a/b/manifests/1: 429 Too Many Requests - Server message: "
           "toomanyrequests: You have reached your pull rate limit."},
      {"choosing an image from manifest list docker://registry.example/a/b:1: no image found in "
       "manifest list for architecture amd64, variant \"\", OS linux",
       "rpc error: code = NotFound desc = " + begin +
           "no match for platform in manifest: not found"},
      {"initializing source docker://registry.example/a/b:1: pinging container registry "
       "registry.example: Get \"https://registry.example/v2/\": dial tcp 192.0.2.9:443: connect: "
       "connection refused",
       "rpc error: code = Unknown desc = " + resolve +
           "failed to do request: Head \"https://registry.example/v2/a/b/manifests/1\": dial tcp "
           "192.0.2.9:443: connect: connection refused"}};
  for (const Case& one : cases) {
    INFO(one.words);
    CHECK(pull_failure(image, one.words, false).reason == "ErrImagePull");
    CHECK(pull_failure(image, one.words, false).message == one.message);
  }
  CHECK(pull_failure(image, cases[2].words, true).message.ends_with(": 401 Unauthorized"));
  for (const char* good : {"nginx", "nginx:1.27", "a/b", "ghcr.io/a/b_c/d.e@sha256:0123",
                           "localhost:5000/x:latest", "127.0.0.1:5000/a-b/c__d:T"})
    CHECK(is_image_name(good));
  for (const char* bad :
       {"", "Nginx", "a//b", "a/", "/a", "a:b:c", "a:", "a b", "-a", "a@b", "a;b"}) {
    INFO(bad);
    CHECK_FALSE(is_image_name(bad));
  }
}

TEST_CASE("images come from a registry with a password", "[podman]") {
  NEEDS_PODMAN
  const TempDir dir;
  Registry registry(dir);
  // bcrypt is what docker-registry takes; python3's crypt has it.
  const auto hashed = embedded::run(
      {.args = {"python3", "-W", "ignore", "-c",
                "import crypt; print(crypt.crypt('correct', crypt.mksalt(crypt.METHOD_BLOWFISH, "
                "rounds=16)))"},
       .env = embedded::plain_environment()});
  if (!hashed.good() || !hashed.output.starts_with("$2")) {
    WARN("skipped: nothing here makes a hash for docker-registry");
    return;
  }
  dir.write("htpasswd", "somebody:" + hashed.output);
  if (embedded::run(
          {.args = {"docker-registry", "--version"}, .env = embedded::plain_environment()})
          .status == embedded::CommandResult::not_started) {
    WARN("skipped: docker-registry isn't installed");
    return;
  }
  registry.start(dir);
  Node node;
  const std::string local = node.image("serve", {"serve"});
  const std::string name = registry.host() + "/team/app";
  CHECK(node.podman("POST", "/images/" + percent_encode(local) +
                                "/tag?repo=" + percent_encode(name) + "&tag=1")
            .good());
  embedded::UnixCall push;
  push.method = "POST";
  push.target = "/v4.0.0/libpod/images/" + percent_encode(name + ":1") +
                "/push?tlsVerify=false&destination=" + percent_encode(name + ":1");
  push.headers["X-Registry-Auth"] = base64(R"({"username":"somebody","password":"correct"})");
  const embedded::UnixHttp http(embedded::podman::socket_of(node.options()));
  embedded::UnixAnswer pushed;
  REQUIRE(node.wait(
      [&] {
        pushed = http.call(push);
        return pushed.good();
      },
      10s));
  INFO(pushed.body);
  CHECK(node.podman("DELETE", "/images/" + percent_encode(name + ":1")).good());
  CHECK(node.podman("DELETE", "/images/" + percent_encode(local) + "?force=true").good());

  Pod pod(node, "private", name + ":1");
  Pull pull = pod.pull();
  CHECK(pull.stage == Pull::Stage::failed);
  CHECK(pull.reason == "ErrImagePull");
  CHECK(pull.message.ends_with("authorization failed: no basic auth credentials"));
  pull = pod.pull(0, PullPolicy::always, {{"somebody", "wrong"}});
  CHECK(pull.message.ends_with("401 Unauthorized"));
  pull = pod.pull(0, PullPolicy::always, {{"somebody", "wrong"}, {"somebody", "correct"}});
  INFO(pull.message);
  REQUIRE(pull.stage == Pull::Stage::pulled);
  CHECK(pull.bytes > 500'000);
  REQUIRE(pod.start().stage == Stage::running);
  CHECK(pod.state().image_id.starts_with(name + "@sha256:"));

  // Whoever has no login doesn't get what others have pulled, unless the policy allows it.
  Pod thief(node, "thief", name + ":1");
  CHECK(thief.pull().stage == Pull::Stage::failed);
  CHECK(thief.pull(1, PullPolicy::if_not_present).stage == Pull::Stage::present);

  Pod missing(node, "missing", registry.host() + "/team/none:1");
  pull = missing.pull(0, PullPolicy::always, {{"somebody", "correct"}});
  CHECK(pull.message.starts_with("rpc error: code = NotFound desc = "));
  CHECK(pull.message.ends_with("/team/none:1: not found"));
  Pod refused(node, "refused", "127.0.0.1:1/a:1");
  CHECK(refused.pull().message.ends_with("dial tcp 127.0.0.1:1: connect: connection refused"));
  Pod bad(node, "bad", "No Image");
  CHECK(bad.pull().reason == "InvalidImageName");
  Pod never(node, "never", name + ":2");
  CHECK(never.pull(0, PullPolicy::never).reason == "ErrImageNeverPull");
  Pod unbuilt(node, "unbuilt", "localhost/nobody/built:1");
  CHECK(unbuilt.pull().message.ends_with("localhost/nobody/built:1: not found"));
}
