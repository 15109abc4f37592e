#include <httplib.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr const char* internal_path = "/api/internal/treasury";

int internal_port(const Berthd& berthd) {
  std::ifstream in(berthd.data_dir() / "berthd.internal.addr");
  std::string address;
  std::getline(in, address);
  return std::stoi(address.substr(address.rfind(':') + 1));
}

}  // namespace

TEST_CASE("with a listener of its own, the internal API takes no secret on the public one") {
  Berthd berthd({"--internal-listen", "127.0.0.1:0"});
  const Headers secret = {{"x-internal-secret", berthd.internal_secret()}};
  httplib::Client internal("127.0.0.1", internal_port(berthd));
  const auto status = [&](const Headers& headers) {
    const auto answer = internal.Get(internal_path, {headers.begin(), headers.end()});
    REQUIRE(answer);
    return answer->status;
  };
  Client anybody(berthd);
  CHECK(anybody.get(internal_path, secret).status == 403);
  CHECK(anybody.get("/api/internal/no-such-path", secret).status == 403);
  CHECK(anybody.get("/health", secret).status == 200);
  CHECK(status(secret) == 200);
  CHECK(status({{"x-internal-secret", "guessed"}}) == 403);
  CHECK(status({}) == 403);
  CHECK(berthd.terminate() == 0);
}

TEST_CASE("without a listener of its own, the internal API is on the public one") {
  const Berthd berthd;
  CHECK_FALSE(std::filesystem::exists(berthd.data_dir() / "berthd.internal.addr"));
  Client anybody(berthd);
  CHECK(anybody.get(internal_path, {{"x-internal-secret", berthd.internal_secret()}}).status ==
        200);
}
