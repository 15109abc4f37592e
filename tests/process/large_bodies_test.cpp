// Bodies of the greatest allowed size that are wrong from beginning to end. Other callers don't
// have to wait because of them.
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr size_t items = 500'000;  // each is "1,", so the body is just below max-body-bytes
// A sanitizer needs several times the memory for itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int max_resident_mb = 3'000;
#else
constexpr int max_resident_mb = 300;
#endif

const std::string numbers = [] {
  std::string list = "1";
  for (size_t i = 1; i < items; ++i) list += ",1";
  return R"({"app_name":"x","redirect_uris":[)" + list + "]}";
}();
// It is read to its end, since it is a single value.
const std::string text = R"({"app_name":")" + std::string(2 * items, 'x') + "\"}";

// Clients that never stop sending, each on its own connection.
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

TEST_CASE("while large wrong bodies arrive, others are served, and SIGTERM ends berthd") {
  const int senders = GENERATE(8, 64);
  INFO(senders << " senders");
  Berthd berthd({"--rate-limits", "off"});
  // Everybody who registers and verifies an address could do this.
  const User user = register_verified_user(berthd, "eve");
  {
    const Attack attack(berthd, user.jwt, senders);
    Client other(berthd);
    for (int asked = 0; asked < 20 || attack.refused() < 2 * senders; ++asked)
      // Throws if there is no answer within half a minute.
      REQUIRE(other.get("/health").status == 200);
    CHECK(resident_mb(berthd) > 0);
    CHECK(resident_mb(berthd) < max_resident_mb);
    CHECK(berthd.terminate() == 0);
    CHECK(attack.otherwise() == 0);
  }
}
