// The command init, and that `deploy up` takes what it writes.
#include <catch2/catch.hpp>

#include "cli/deploy_plan.h"
#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int usage = 2;
constexpr int conflict = 6;

Ran init(const Words& more) {
  Words words = {"init"};
  words.insert(words.end(), more.begin(), more.end());
  return Running(words, "", {{"HOME", "/"}}).wait();
}

json order_for(const Words& more) {
  Words words = more;
  words.insert(words.end(), {"--file", "-"});
  return parse_orders(init(words).out, "what init prints").at(0);
}

}  // namespace

TEST_CASE("init takes the name from the image, and names its registry") {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const auto& [image, name, full] :
       {std::tuple("docker.io/library/hello:1", "hello", "docker.io/library/hello:1"),
        std::tuple("nginx", "nginx", "docker.io/library/nginx"),
        std::tuple("ada/My_Game:2.0", "my-game", "docker.io/ada/My_Game:2.0"),
        std::tuple("ghcr.io/ada/shop", "shop", "ghcr.io/ada/shop"),
        std::tuple("localhost:5000/shop:1", "shop", "localhost:5000/shop:1")}) {
    CAPTURE(image);
    const json order = order_for({image});
    CHECK(order.at("name") == name);
    CHECK(order.at("image") == full);
    CHECK(order.at("port") == 3000);
  }
  CHECK(order_for({"ghcr.io/ada/shop" + digest}).at("name") == "shop");
  CHECK(order_for({"x/" + std::string(40, 'a')}).at("name") == std::string(32, 'a'));
  CHECK(order_for({"shop", "--name", "store", "--port", "80", "--tier", "basic"}).at("tier") ==
        "basic");
  CHECK(init({"___"}).code == usage);
  CHECK(init({"shop", "--name", "Not_A_Name"}).code == usage);
}

TEST_CASE("init writes over no file, and deploy up carries out what it wrote") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const berth::process::TempDir dir;
  const std::string file = (dir.path() / "berth.yaml").string();
  const Ran written = ada.must({"init", "docker.io/library/hello:1", "--file", file});
  CHECK(written.out.find("berth deploy up --wait") != std::string::npos);
  CHECK(ada.berth({"init", "docker.io/library/hello:2", "--file", file}).code == conflict);
  CHECK(dir.read("berth.yaml").find("hello:1") != std::string::npos);
  ada.must({"deploy", "up", "--yes", "--wait", "--file", file});
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").at(0).at("status") ==
        "running");
  ada.must({"init", "docker.io/library/hello:2", "--file", file, "--force"});
  CHECK(ada.must({"deploy", "up", "--dry-run", "--file", file}).out.find("hello:2") !=
        std::string::npos);
}
