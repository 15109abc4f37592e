// What strangers can write to the disk on a day, measured in the database's file.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using write_budgets::Counts;

std::string filler(size_t length) { return std::string(length, 'x'); }

// A stranger, who writes whatever they can, as long and as often as they are allowed to.
class Stranger {
 public:
  Stranger(GateWorld& g, const std::string& name, bool verified) : g_(g), name_(name) {
    user_ = verified ? g.world.verified_user(name) : g.world.new_user(name);
    jwt_ = g.world.jwt(user_);
  }
  const std::string& id() const { return user_.id; }

  // Writes once of each kind.
  void write_all(const std::vector<std::string>& others) {
    ++round_;
    const std::string number = std::to_string(round_);
    const auto send = [&](const std::string& method, const std::string& path, const json& body) {
      const std::vector<Header> headers = {
          bearer(jwt_), {"Idempotency-Key", filler(200) + name_ + number + path}};
      const Answered answer = g_.ask(method, path, headers, body.is_null() ? "" : body.dump());
      statuses[method + " " + path.substr(0, 30)][answer.status]++;
      return answer;
    };
    send("PUT", "/api/avatars/me", {{"appearance", {{"a", filler(8'000)}}}});
    send("PUT", "/api/avatars/me", {{"display_name", "n" + number}});
    send("PUT", "/api/learning/path", {{"learning_path", "path" + number}});
    send("POST", "/api/auth/totp/setup", nullptr);
    send("PATCH", "/api/auth/me", {{"username", name_ + "aaaaaaaaaaaaa" + number}});
    send("GET",
         "/api/oauth/authorize?response_type=code&client_id=" + client_id +
             "&redirect_uri=" + berth::test::redirect_uri + "&scope=profile:read&code_challenge=" +
             base64url(sha256("v")) + "&code_challenge_method=S256",
         nullptr);
    if (channel_.empty()) {
      const Answered opened = send("POST", "/api/social/chat/channels",
                                   {{"type", "lobby"}, {"ref_id", name_ + number}});
      if (opened.status == 201) channel_ = opened.body["channel"]["id"];
    }
    send("POST", "/api/social/chat/channels",
         {{"type", "table"}, {"ref_id", name_ + number + filler(100)}});
    for (int message = 0; message < 5 && !channel_.empty(); ++message)
      send("POST", "/api/social/chat/channels/" + channel_ + "/messages",
           {{"body", message == 0 ? filler(1'000) : "hi " + std::to_string(message)}});
    if (!others.empty()) {
      const std::string& other = others[size_t(round_) % others.size()];
      send("POST", "/api/social/friends/requests", {{"user_id", other}});
      send("POST", "/api/social/blocks", {{"user_id", other}});
      send("DELETE", "/api/social/blocks/" + other, nullptr);
    }
    send("POST", "/api/oauth/apps",
         {{"app_name", "app " + number},
          {"app_description", filler(900)},
          {"website_url", "https://example.org/" + filler(900)},
          {"redirect_uris", json::array({"https://example.org/" + filler(900)})},
          {"allowed_scopes", json::array({"profile:read", "deploy:manage"})}});
  }

  std::string client_id;
  static inline std::map<std::string, std::map<int, int>> statuses;

 private:
  GateWorld& g_;
  const std::string name_;
  accounts::User user_;
  std::string jwt_;
  std::string channel_;
  int round_ = 0;
};

// The size of the database's pages that are in use.
std::int64_t bytes_of(GateWorld& g) {
  return g.world.read([](db::Tx& tx) {
    return tx.number("SELECT page_count FROM pragma_page_count()") *
               tx.number("SELECT page_size FROM pragma_page_size()") -
           tx.number("SELECT freelist_count FROM pragma_freelist_count()") *
               tx.number("SELECT page_size FROM pragma_page_size()");
  });
}

// More than any of the cases needs.
constexpr int most_rounds = 500;

// Lets them write until none of them may write any more. Returns by how much the database has
// grown.
std::int64_t attack(GateWorld& g, std::vector<Stranger>& strangers) {
  const auto app = g.world.approved_app(g.world.verified_user("operator"), {Scope::profile_read});
  std::vector<std::string> ids;
  for (Stranger& stranger : strangers) {
    ids.push_back(stranger.id());
    stranger.client_id = app.client_id;
  }
  const std::int64_t before = bytes_of(g);
  const db::WriteMeter meter;
  // Until a round stores nothing any more. What removes something is never refused.
  for (int round = 0; round < most_rounds; ++round) {
    const std::int64_t stored_before = meter.total().bytes;
    for (Stranger& stranger : strangers) stranger.write_all(ids);
    if (meter.total().bytes == stored_before) break;
    g.world.clock.advance(std::chrono::seconds(10));  // for which chat has a limit of its own
  }
  const std::int64_t grown = bytes_of(g) - before;
  WARN("the file grew by " << grown << " bytes where " << meter.total().bytes
                           << " were counted, in " << meter.total().rows << " rows");
  CHECK(grown < meter.total().bytes);
  return grown;
}

TEST_CASE("twenty strangers at one address can't write more than a network may", "[sqlite]") {
  // A hundredth of the budgets, so that the walk takes seconds, unless the variable says otherwise.
  // tests/bench/attack_disk does the same to berthd itself, as often as its rate limits allow.
  const char* wanted = std::getenv("BERTH_STRANGERS_DIVISOR");
  const int divisor = wanted == nullptr ? 100 : std::stoi(wanted);
  GateWorld g;
  g.services.admission.write_counts = std::make_shared<Counts>("key", divisor);
  std::vector<Stranger> strangers;
  for (int i = 0; i < 20; ++i) strangers.emplace_back(g, "stranger" + std::to_string(i), true);
  const std::int64_t grown = attack(g, strangers);
  WARN("20 strangers at one address: " << grown << " bytes of at most "
                                       << write_budgets::bytes_of_network / divisor);
  CHECK(grown < write_budgets::bytes_of_network / divisor);
}

TEST_CASE("a stranger can't write more than an account may", "[sqlite]") {
  constexpr int divisor = 10;
  GateWorld g;
  g.services.admission.write_counts = std::make_shared<Counts>("key", divisor);
  std::vector<Stranger> one;
  one.emplace_back(g, "stranger", true);
  const std::int64_t grown = attack(g, one);
  WARN("one stranger: " << grown << " bytes of at most "
                        << write_budgets::bytes_of_account / divisor);
  CHECK(grown < write_budgets::bytes_of_account / divisor);
}

TEST_CASE("an account whose address isn't verified writes at most 100 kB", "[sqlite]") {
  GateWorld g;
  std::vector<Stranger> one;
  one.emplace_back(g, "stranger", false);
  const std::int64_t grown = attack(g, one);
  for (const auto& [what, counts] : Stranger::statuses)
    for (const auto& [status, count] : counts) UNSCOPED_INFO(what << " " << status << " " << count);
  WARN("an unverified stranger: " << grown << " bytes of at most "
                                  << write_budgets::bytes_of_unverified_account);
  CHECK(grown < write_budgets::bytes_of_unverified_account);
}

}  // namespace
