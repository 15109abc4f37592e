// Members of an app, personal tokens and trusts with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"
#include "tests/process/oauth.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("somebody is invited, accepts, gets another role, and is removed") {
  const Berthd berthd;
  const Person ada(berthd), grace(berthd);
  ada.settle_in("ada");
  grace.settle_in("grace");
  CHECK(ada.berth({"members", "invite", "grace", "--role", "king"}).code == 2);
  ada.must({"members", "invite", "grace", "--role", "viewer"});
  CHECK(ada.must({"members", "list"}).out.find("viewer") != std::string::npos);
  grace.must({"invitations", "accept", "Game of ada"});
  ada.must({"members", "role", "grace", "developer"});
  const json body = ada.must({"members", "list", "-o", "json"}).body();
  CHECK(body.at("members").at(1).at("role") == "developer");
  CHECK(body.at("invitations").empty());
  CHECK(ada.berth({"members", "remove", "grac", "--yes"}).code == 5);
  ada.must({"members", "remove", "grace", "--yes"});
  CHECK(ada.must({"members", "list", "-o", "json"}).body().at("members").size() == 1);
}

TEST_CASE("a personal token is printed alone, used, and revoked") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string token =
      ada.must({"tokens", "create", "ci", "--scopes", "deploy:read", "--password-stdin"},
               Person::password())
          .out;
  CHECK(token.starts_with("pat_live_"));
  CHECK(token.find('\n') == token.size() - 1);
  const std::string shown = token.substr(0, token.size() - 1);
  CHECK(ada.berth({"list"}, "", {{"BERTH_TOKEN", shown}}).code == 0);
  ada.must({"tokens", "revoke", "ci", "--yes"});
  CHECK(ada.berth({"list"}, "", {{"BERTH_TOKEN", shown}}).code == 3);
}

TEST_CASE("a trust is made once it is narrow enough, warned of once, listed and deleted") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  berth::process::expect(
      201, berth::process::Client(berthd).post(
               "/api/internal/issuers",
               {{"issuer", "https://gitlab.com"}, {"name", "GitLab"}, {"kind", "gitlab"}},
               berth::process::Headers{{"x-internal-secret", berthd.internal_secret()}}));
  const auto create = [&](const std::string& claim) {
    return ada.berth({"trusts", "create", "--issuer", "gitlab", "--claim", claim, "--scopes",
                      "deploy:read,deploy:write"});
  };
  CHECK(create("project_id").code == 2);
  CHECK(create("project_path=acme/shop").code != 0);
  const Ran made = create("project_id=7");
  CHECK(made.code == 0);
  const std::string warning = "every job on every branch is trusted";
  const size_t at = made.err.find(warning);
  REQUIRE(at != std::string::npos);
  CHECK(made.err.find(warning, at + 1) == std::string::npos);
  CHECK(ada.must({"trusts", "list"}).out.find("project_id=7") != std::string::npos);
  const json trusts = ada.must({"trusts", "list", "-o", "json"}).body().at("trusts");
  CHECK(trusts.at(0).at("audience") == berthd.base_url());
  ada.must({"trusts", "delete", "GitLab", "--yes"});
  CHECK(ada.must({"trusts", "list", "-o", "json"}).body().at("trusts").empty());
}

TEST_CASE("a container calls berth with the token that it finds, and without a secret") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,deploy:exec");
  ada.admin({"tiers", "update", "free", "--exec", "true"});
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--identity", "true",
            "--wait"});
  const std::string file = "/var/run/secrets/berth/token";
  const std::string token = ada.must({"exec", "shop", "--", "cat", file}).out;
  CHECK(token.starts_with("eyJ"));
  ada.must({"trusts", "create", "--issuer", "berth", "--deployment", "shop", "--scopes",
            "deploy:read,logs:read"});
  const json trusts = ada.must({"trusts", "list", "-o", "json"}).body().at("trusts");
  CHECK(trusts.at(0).at("claims").empty());

  berth::process::Client container(berthd);
  const auto exchanged = berth::process::expect(
      200,
      berth::process::post_form(container, "/api/oauth/token",
                                {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                                 {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
                                 {"subject_token", token}}));
  const std::string id = ada.must({"deploy", "get", "shop", "-o", "json"}).body().at("id");
  berth::process::Client with_token(berthd, exchanged.body.at("access_token"));
  berth::process::expect(200, with_token.get("/api/deploy/apps/" + id));
  berth::process::expect(403, with_token.post("/api/deploy/apps/" + id + "/stop"));
  ada.must({"deploy", "stop", "shop"});
  berth::process::expect(401, with_token.get("/api/deploy/apps/" + id));
}
