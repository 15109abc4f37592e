#include "reconcilers/embedded/apiserver/pod_tokens.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/jws.h"

namespace berth::embedded {
namespace {

constexpr const char* type_of_token = "JWT";
// What a real API server has as its audience if a TokenReview names none; berth's reviews name one.
constexpr const char* own_audience = "https://kubernetes.default.svc";

std::int64_t unix_seconds(Instant at) { return to_millis(at) / 1000; }

Json refused(Json review, const std::string& why) {
  review["status"] = {{"authenticated", false}, {"error", why}};
  return review;
}

}  // namespace

PodTokens::PodTokens()
    : seed_(random_bytes(jws::seed_bytes)), public_key_(jws::public_key_of(seed_)) {}

std::string PodTokens::issue(const Json& pod, const std::string& audience,
                             std::chrono::seconds life, Instant now) const {
  const std::string account = text_at(pod["spec"], "serviceAccountName");
  const Json about = {{"namespace", namespace_of(pod)},
                      {"pod", {{"name", name_of(pod)}, {"uid", uid_of(pod)}}},
                      {"serviceaccount", {{"name", account}}}};
  return jws::sign(seed_, type_of_token,
                   {{"iss", own_audience},
                    {"sub", "system:serviceaccount:" + namespace_of(pod) + ":" + account},
                    {"aud", {audience}},
                    {"iat", unix_seconds(now)},
                    {"nbf", unix_seconds(now)},
                    {"exp", unix_seconds(now + life)},
                    {"jti", new_uuid(now)},
                    {"kubernetes.io", about}});
}

Json PodTokens::review(Json review, const Store& store, Instant now) const {
  const auto token = jws::parse(text_at(at_path(review, "/spec"), "token"));
  if (!token || token->type != type_of_token ||
      !jws::verifies(public_key_, token->signed_part, token->signature))
    return refused(std::move(review), "invalid bearer token");
  const Json& claims = token->payload;
  if (number_at(claims, "/exp", 0) <= unix_seconds(now))
    return refused(std::move(review), "service account token has expired");
  Json wanted = at_path(review, "/spec/audiences");
  if (!wanted.is_array() || wanted.empty()) wanted = Json::array({own_audience});
  const Json& given = at_path(claims, "/aud");
  Json common = Json::array();
  for (const Json& audience : wanted)
    if (std::find(given.begin(), given.end(), audience) != given.end()) common.push_back(audience);
  if (common.empty())
    return refused(std::move(review), "token audiences aren't among those of the review");
  const Json& of_pod = at_path(claims, "/kubernetes.io/pod");
  const std::string name_space = text_at(at_path(claims, "/kubernetes.io"), "namespace");
  const ObjectPtr pod = store.find({Kind::pods, name_space, text_at(of_pod, "name")});
  if (!pod || uid_of(*pod) != text_at(of_pod, "uid"))
    return refused(std::move(review), "the token is bound to a pod that doesn't exist");
  review["status"] = {{"authenticated", true},
                      {"user",
                       {{"username", text_at(claims, "sub")},
                        {"groups",
                         {"system:serviceaccounts", "system:serviceaccounts:" + name_space,
                          "system:authenticated"}},
                        {"extra",
                         {{"authentication.kubernetes.io/pod-name", {text_at(of_pod, "name")}},
                          {"authentication.kubernetes.io/pod-uid", {text_at(of_pod, "uid")}}}}}},
                      {"audiences", std::move(common)}};
  return review;
}

}  // namespace berth::embedded
