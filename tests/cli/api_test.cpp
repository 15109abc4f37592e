// The command api: any operation of the published document.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("api calls operations of every kind with the credentials that they take") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  CHECK(ada.must({"api", "/health"}).body().at("status") == "ok");
  CHECK(ada.must({"api", "get", "/api/auth/me"}).body().at("user").at("username") == "ada");
  CHECK(ada.must({"api", "PATCH", "/api/auth/me", "-f", "username=lovelace"})
            .body()
            .at("user")
            .at("username") == "lovelace");
  const json made = ada.must({"api", "POST", "/api/deploy/apps", "-d", "@-"},
                             R"({"name":"shop","image":"docker.io/library/hello:1","tier":"free"})")
                        .body();
  const std::string path = "/api/deploy/apps/" + made.at("id").get<std::string>();
  CHECK(ada.must({"api", "PATCH", path, "-f", "port:=8080"}).body().at("port") == 8080);
  CHECK(ada.must({"api", "GET", path, "-o", "yaml"}).out.find("port: 8080") != std::string::npos);
  CHECK(ada.must({"api", "GET", "/api/internal/treasury"}, "",
                 {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}})
            .body()
            .contains("balance"));
  CHECK(ada.must({"api", "DELETE", path}).body().contains("message"));
}

TEST_CASE("api reads all pages") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  for (int i = 0; i < 3; ++i)
    ada.must(
        {"deploy", "create", "shop" + std::to_string(i), "--image", berth::process::well_image});
  CHECK(ada.must({"api", "/api/deploy/apps?page_size=2"}).body().at("deployments").size() == 2);
  CHECK(ada.must({"api", "/api/deploy/apps", "--all"}).body().at("deployments").size() == 3);
  CHECK(ada.berth({"api", "/api/auth/me", "--all"}).code == 2);
}

TEST_CASE("api's refusals have the exit codes of every command") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  CHECK(ada.berth({"api", "/api/deploy/apps/01936f5e-7c1a-7000-8000-000000000005"}).code == 5);
  CHECK(ada.berth({"api", "POST", "/api/deploy/apps", "-d", "{}"}).code == 7);
  CHECK(ada.berth({"api", "/api/internal/treasury"}).code == 3);
  CHECK(ada.berth({"api", "GET", "/api/deploy/apps", "--as", "nobody"}).code == 3);
  for (const Words& words :
       {Words{"api", "GET", "api/deploy/apps"}, Words{"api", "GET"},
        Words{"api", "FETCH", "/health"}, Words{"api", "POST", "/health", "-d", "{"},
        Words{"api", "POST", "/health", "-f", "x"}, Words{"api", "POST", "/health", "-f", "x:=y"},
        Words{"api", "GET", "/health\r\nX: y"}, Words{"api", "/health", "-H", "X: y\r\nZ: a"}})
    CHECK(ada.berth(words).code == 2);
}
