// Tokens that are projected into pods: the node writes them, and a TokenReview knows them.
#include "reconcilers/embedded/apiserver/pod_tokens.h"

#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;
using namespace std::chrono_literals;

namespace {

constexpr const char* audience = "https://berth.example.org";
constexpr const char* reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* pods = "/api/v1/namespaces/apps/pods";

Json pod_with_token(const std::string& name) {
  const Json token = {{"audience", audience}, {"expirationSeconds", 600}, {"path", "token"}};
  const Json sources = Json::array({{{"serviceAccountToken", token}}});
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "apps"}, {"uid", "uid-of-" + name}}},
          {"spec",
           {{"serviceAccountName", "default"},
            {"automountServiceAccountToken", false},
            {"terminationGracePeriodSeconds", 0},
            {"volumes", Json::array({{{"name", "berth"}, {"projected", {{"sources", sources}}}}})},
            {"containers",
             Json::array({{{"name", "app"},
                           {"image", "nginx:1"},
                           {"volumeMounts",
                            Json::array({{{"name", "berth"},
                                          {"readOnly", true},
                                          {"mountPath", "/var/run/secrets/berth"}}})}}})}}}};
}

Json review_of(const std::string& token, const std::string& wanted = audience) {
  return {{"apiVersion", "authentication.k8s.io/v1"},
          {"kind", "TokenReview"},
          {"spec", {{"token", token}, {"audiences", {wanted}}}}};
}

}  // namespace

TEST_CASE("a pod finds its token in a file, and a review says whose it is") {
  World world;
  REQUIRE(world.post(pods, pod_with_token("web")).status == 201);
  REQUIRE(World::wait([&] { return !world.cluster.tokens_of("apps", "web").empty(); }));
  const TokenFile file = world.cluster.tokens_of("apps", "web").at(0);
  CHECK(file.volume == "berth");
  CHECK(file.path == "token");

  const Answer answer = world.post(reviews, review_of(file.token));
  CHECK(answer.status == 201);
  const Json& status = answer.body.at("status");
  CHECK(status.at("authenticated") == true);
  CHECK(status.at("user").at("username") == "system:serviceaccount:apps:default");
  CHECK(status.at("audiences") == Json{audience});

  const auto is_authentic = [&](const Json& review) {
    return world.post(reviews, review).body.at("status").at("authenticated") == true;
  };
  CHECK_FALSE(is_authentic(review_of(file.token, "https://other.example.org")));
  CHECK_FALSE(is_authentic(review_of(file.token + "x")));
  CHECK_FALSE(is_authentic(review_of("")));
  World strangers;  // another cluster, with another key
  CHECK(strangers.post(reviews, review_of(file.token)).body["status"]["authenticated"] == false);
  // The token ends with its pod, also if another one gets the same name.
  REQUIRE(world.remove(std::string(pods) + "/web").status == 200);
  REQUIRE(World::wait([&] { return world.get(std::string(pods) + "/web").status == 404; }));
  CHECK_FALSE(is_authentic(review_of(file.token)));
  REQUIRE(world.post(pods, pod_with_token("web")).status == 201);
  CHECK_FALSE(is_authentic(review_of(file.token)));
}

TEST_CASE("a pod without a projected token has none") {
  World world;
  Json pod = pod_with_token("plain");
  pod["spec"]["volumes"] = Json::array({{{"name", "berth"}, {"emptyDir", Json::object()}}});
  REQUIRE(world.post(pods, pod).status == 201);
  REQUIRE(World::wait([&] {
    return world.get(std::string(pods) + "/plain").body["status"]["phase"] == "Running";
  }));
  CHECK(world.cluster.tokens_of("apps", "plain").empty());
}

TEST_CASE("a token expires, and an expired one is refused") {
  const PodTokens tokens;
  Store store;
  const berth::Instant now = berth::from_millis(1'800'000'000'000);
  const std::string token = tokens.issue(pod_with_token("web"), audience, 600s, now);
  const auto why = [&](berth::Instant at) {
    return tokens.review(review_of(token), store, at)["status"]["error"].get<std::string>();
  };
  const Lock lock(store.mutex());
  CHECK(why(now + 599s).find("pod that doesn't exist") != std::string::npos);
  CHECK(why(now + 600s).find("expired") != std::string::npos);
}
