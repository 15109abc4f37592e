#include "api/gate/errors.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using namespace berth::api;

const Challenge with_token = {
    .base_url = "https://api.example.org", .with_credentials = true, .scope = {}};
const Challenge without_token = {
    .base_url = "https://api.example.org", .with_credentials = false, .scope = {}};

std::string header(const Reply& reply, const std::string& name) {
  std::string all;
  for (const auto& [key, value] : reply.headers)
    if (key == name) all += (all.empty() ? "" : "; ") + value;
  return all;
}

TEST_CASE("errors of the nested form lead to their explanation, and others don't") {
  const Error error(Code::subdomain_taken, "the name is taken");
  CHECK(reply_to(error, Shape::nested, with_token).body.at("error").at("docs_url") ==
        "https://api.example.org/docs/reference/errors#subdomain_taken");
  CHECK_FALSE(reply_to(error, Shape::nested, {}).body.at("error").contains("docs_url"));
  for (const Shape shape : {Shape::oauth, Shape::oauth_and_message, Shape::simple})
    CHECK_FALSE(reply_to(error, shape, with_token).body.dump().contains("docs_url"));
  const Error failure(Code::unavailable, "the disk is full");
  CHECK_FALSE(reply_to(failure, Shape::nested, with_token).body.dump().contains("docs_url"));
}

TEST_CASE("the four forms of an error's body") {
  const Error error(Code::validation_failed, "name is wrong", {{"name", {"is wrong"}}});
  CHECK(
      reply_to(error, Shape::nested, with_token).body ==
      json::parse(
          R"({"error": {"code": "validation_failed", "message": "name is wrong", "details": {"name": ["is wrong"]},
                         "docs_url": "https://api.example.org/docs/reference/errors#validation_failed"}})"));
  const Error grant(Code::invalid_grant, "the code has expired");
  CHECK(reply_to(grant, Shape::oauth, with_token).body ==
        json::parse(R"({"error": "invalid_grant", "error_description": "the code has expired"})"));
  CHECK(
      reply_to(grant, Shape::oauth_and_message, with_token).body ==
      json::parse(
          R"({"error": "invalid_grant", "error_description": "the code has expired", "message": "the code has expired"})"));
  const Error credentials(Code::invalid_credentials, "address or password are wrong");
  CHECK(reply_to(credentials, Shape::simple, with_token).body ==
        json::parse(
            R"({"error": "invalid_credentials", "message": "address or password are wrong"})"));
  CHECK(
      reply_to(error, Shape::simple, with_token).body ==
      json::parse(
          R"({"error": "validation_failed", "message": "name is wrong", "details": {"name": ["is wrong"]}})"));
  CHECK(router_reply(404, "Not Found").body ==
        json::parse(R"({"errors": {"detail": "Not Found"}})"));
  CHECK(json::parse(framework_body("x \"y\"")) ==
        json::parse(R"({"errors": {"detail": "x \"y\""}})"));
}

TEST_CASE("the form of an error's body follows from the operation and the status") {
  CHECK(body_of(Shape::simple, 401) == ErrorBody::simple);
  CHECK(body_of(Shape::simple, 403) == ErrorBody::simple);
  CHECK(body_of(Shape::simple, 422) == ErrorBody::simple);
  CHECK(body_of(Shape::simple, 429) == ErrorBody::simple);
  CHECK(body_of(Shape::nested_but_access, 403) == ErrorBody::simple);
  CHECK(body_of(Shape::nested_but_access, 422) == ErrorBody::nested);
  CHECK(body_of(Shape::nested, 401) == ErrorBody::nested);
  CHECK(body_of(Shape::oauth, 400) == ErrorBody::oauth);
  CHECK(body_of(Shape::oauth, 401) == ErrorBody::oauth);
  CHECK(body_of(Shape::oauth, 429) == ErrorBody::oauth);
  CHECK(body_of(Shape::oauth_and_message, 429) == ErrorBody::oauth_and_message);
  for (const Shape shape : {Shape::nested, Shape::oauth, Shape::oauth_and_message, Shape::simple,
                            Shape::nested_but_access}) {
    for (const int status : {413, 431, 500, 503})
      CHECK(body_of(shape, status) == ErrorBody::framework);
  }
}

TEST_CASE("details appear only if there are any") {
  CHECK_FALSE(reply_to(Error(Code::forbidden, "no"), Shape::nested, with_token)
                  .body["error"]
                  .contains("details"));
}

TEST_CASE("a 401 says how to authenticate, and why a token wasn't accepted") {
  const Error expired(Code::token_expired, "the \"token\" has expired\\");
  CHECK(
      header(reply_to(expired, Shape::nested, without_token), "WWW-Authenticate") ==
      R"(Bearer realm="berth", resource_metadata="https://api.example.org/.well-known/oauth-protected-resource")");
  CHECK(
      header(reply_to(expired, Shape::nested, with_token), "WWW-Authenticate") ==
      R"(Bearer realm="berth", error="invalid_token", error_description="the \"token\" has expired\\", )"
      R"(resource_metadata="https://api.example.org/.well-known/oauth-protected-resource")");
}

TEST_CASE("no message can end the header") {
  const Error nasty(Code::invalid_token, "a\r\nSet-Cookie: x=\"1\"\x7f\xc3\xa4");
  const std::string value = header(reply_to(nasty, Shape::nested, with_token), "WWW-Authenticate");
  CHECK(value.find('\r') == std::string::npos);
  CHECK(value.find('\n') == std::string::npos);
  for (const char c : value) CHECK((c >= 0x20 && c < 0x7f));
}

TEST_CASE("a 403 names the scope that would suffice, and otherwise says nothing about tokens") {
  Challenge challenge = with_token;
  challenge.scope = "deploy:manage";
  CHECK(header(reply_to(Error(Code::insufficient_scope, "no"), Shape::nested, challenge),
               "WWW-Authenticate")
            .starts_with(
                R"(Bearer realm="berth", error="insufficient_scope", scope="deploy:manage")"));
  for (const Code code : {Code::forbidden, Code::not_found, Code::validation_failed,
                          Code::rate_limited, Code::unavailable})
    CHECK(header(reply_to(Error(code, "no"), Shape::nested, with_token), "WWW-Authenticate") == "");
}

TEST_CASE("a consumed refresh token is 401 without a challenge") {
  const Reply reply =
      reply_to(Error(Code::consumed_refresh_token, "used"), Shape::oauth, with_token);
  CHECK(reply.status == 401);
  CHECK(reply.body["error"] == "invalid_grant");
  CHECK(header(reply, "WWW-Authenticate") == "");
}

TEST_CASE("a client is asked for Basic, and never for a token") {
  CHECK(header(reply_to(Error(Code::invalid_client, "no"), Shape::oauth, with_token),
               "WWW-Authenticate") == "Basic realm=\"berth\"");
}

TEST_CASE("an error_description has the characters of RFC 6749") {
  const Reply reply = reply_to(Error(Code::invalid_request, "\"a\\b\n\u00e9 isn't known"),
                               Shape::oauth_and_message, with_token);
  CHECK(reply.body["error_description"] == "'a/b??? isn't known");
  CHECK(reply.body["message"] == "\"a\\b\n\u00e9 isn't known");
}

}  // namespace
