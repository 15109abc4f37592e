// Bodies that are as large as they may be and wrong from end to end: nobody else waits for them.
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr size_t items = 500'000;  // "1," each: just below max-body-bytes
constexpr int max_resident_mb = 300;

const std::string numbers = [] {
  std::string list = "1";
  for (size_t i = 1; i < items; ++i) list += ",1";
  return R"({"app_name":"x","redirect_uris":[)" + list + "]}";
}();
// Is read to its end, since it is one value.
const std::string text = R"({"app_name":")" + std::string(2 * items, 'x') + "\"}";

// Senders who don't stop, each on a connection of their own.
class Attack {
 public:
  Attack(const Berthd& berthd, const std::string& jwt, int senders) {
    for (int i = 0; i < senders; ++i)
      threads_.emplace_back([this, &berthd, jwt, i] {
        Client client(berthd, jwt);
        const Ask ask = {.method = "POST",
                         .path = "/api/oauth/apps",
                         .body = i % 2 == 0 ? numbers : text,
                         .headers = {{"Content-Type", "application/json"}}};
        try {
          while (!over_) {
            const int status = client.ask(ask).status;
            ++(status == 400 || status == 422 ? refused_ : otherwise_);
          }
        } catch (const NoAnswer&) {  // berthd ends
        }
      });
  }
  ~Attack() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  int refused() const { return refused_; }
  int otherwise() const { return otherwise_; }

 private:
  std::vector<std::thread> threads_;
  std::atomic<bool> over_ = false;
  std::atomic<int> refused_ = 0;
  std::atomic<int> otherwise_ = 0;
};

int resident_mb(const Berthd& berthd) {
  std::ifstream status("/proc/" + std::to_string(berthd.pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoi(line.substr(6)) / 1024;
  return -1;
}

}  // namespace

TEST_CASE("while large wrong bodies come in, others are served, and SIGTERM ends berthd") {
  const int senders = GENERATE(8, 64);
  INFO(senders << " senders");
  Berthd berthd({"--rate-limits", "off"});
  // Not verified: this is open to whoever registers.
  const User user = log_in(berthd, register_user(berthd, "eve"));
  {
    const Attack attack(berthd, user.jwt, senders);
    Client other(berthd);
    for (int asked = 0; asked < 20 || attack.refused() < 2 * senders; ++asked)
      REQUIRE(other.get("/health").status == 200);  // throws where none comes in half a minute
    CHECK(resident_mb(berthd) > 0);
    CHECK(resident_mb(berthd) < max_resident_mb);
    CHECK(berthd.terminate() == 0);
    CHECK(attack.otherwise() == 0);
  }
}
