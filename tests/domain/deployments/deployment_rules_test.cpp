// What an order may contain, as far as it can be checked without the database.
#include <catch2/catch.hpp>
#include <climits>

#include "controller/domain/deployments/rules.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Order;

const deployments::Rules rules = {
    .registries = {"registry.example.org", "docker.io/library", "ghcr.io"},
    .apps_domain = "apps.example.org",
    .base_host = "api.example.org"};

std::string check(const Order& order) {
  return refusal([&] { deployments::check(order, rules); });
}
template <typename Change>
std::string with(Change&& change) {
  Order changed = order();
  change(changed);
  return check(changed);
}
template <typename Change>
std::vector<std::string> wrong_fields(Change&& change) {
  Order changed = order();
  change(changed);
  std::vector<std::string> fields;
  for (const auto& [field, reasons] : details([&] { deployments::check(changed, rules); })) {
    CHECK_FALSE(reasons.empty());
    fields.push_back(field);
  }
  return fields;
}

constexpr const char* invalid = "422 validation_failed";
using Fields = std::vector<std::string>;

TEST_CASE("a name is a label of 1 to 32 characters") {
  const std::string longest(32, 'a');
  for (const std::string& name :
       {std::string("a"), std::string("0"), std::string("a-b"), std::string("a--b"),
        std::string("9to5"), std::string("xn--bcher-kva"), longest}) {
    INFO(name);
    CHECK(with([&](Order& o) { o.name = name; }) == "");
  }
  for (const std::string& name :
       {std::string(), longest + "a", std::string("-a"), std::string("a-"), std::string("-"),
        std::string("A"), std::string("aB"), std::string("🌱"), std::string("zoë"),
        std::string("a.b"), std::string("a_b"), std::string("a b"), std::string("a\n"),
        std::string("a/b"), std::string("a\0b", 3), std::string("*")}) {
    INFO(name);
    CHECK(with([&](Order& o) { o.name = name; }) == invalid);
    CHECK(wrong_fields([&](Order& o) { o.name = name; }) == Fields{"name"});
  }
}

TEST_CASE("an image comes from an allowed registry") {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& image :
       {std::string("registry.example.org/team/web"), std::string("docker.io/library/nginx"),
        std::string("docker.io/library/nginx:1.27"), std::string("ghcr.io/acme/web:latest"),
        "ghcr.io/acme/web" + digest, "ghcr.io/acme/web:1" + digest, std::string("ghcr.io/a"),
        std::string("ghcr.io/a/b/c/d:v1.2.3-rc.1_x"), std::string("docker.io/library/my_app.web-2"),
        "ghcr.io/a:" + std::string(128, 'x')}) {
    INFO(image);
    CHECK(with([&](Order& o) { o.container.image = image; }) == "");
  }
  for (const char* image : {"nginx",
                            "nginx:1.27",
                            "library/nginx",
                            "docker.io/nginx",
                            "docker.io/acme/web",
                            "docker.io/library",
                            "docker.io/library/",
                            "docker.io/library.evil.com/x",
                            "docker.io/libraryx/nginx",
                            "docker.io/library:80/x",
                            "ghcr.io",
                            "ghcr.io/",
                            "ghcr.io.evil.com/x",
                            "ghcr.io:5000/x",
                            "ghcr.iox/y",
                            "evil.com/ghcr.io/x",
                            "evil.com/docker.io/library/x",
                            "https://ghcr.io/acme/web",
                            "GHCR.IO/acme/web",
                            " ghcr.io/acme/web",
                            "xregistry.example.org/web",
                            "registry.example.org@evil.com/x",
                            "user@ghcr.io/x",
                            "quay.io/x"}) {
    INFO(image);
    CHECK(with([&](Order& o) { o.container.image = image; }) == "422 unsupported_registry");
  }
}

TEST_CASE("an image of an allowed registry is a reference of the distribution specification") {
  for (const std::string& image : {std::string("ghcr.io//web"),
                                   std::string("ghcr.io/acme/"),
                                   std::string("ghcr.io/acme/../../evil"),
                                   std::string("ghcr.io/./x"),
                                   std::string("ghcr.io/acme/web:"),
                                   std::string("ghcr.io/acme/web:.x"),
                                   std::string("ghcr.io/acme/web:-x"),
                                   std::string("ghcr.io/acme/web:a:b"),
                                   std::string("ghcr.io/acme/web:a b"),
                                   "ghcr.io/acme/web:" + std::string(129, 'x'),
                                   std::string("ghcr.io/acme/web@sha256:abc"),
                                   "ghcr.io/acme/web@sha256:" + std::string(64, 'A'),
                                   "ghcr.io/acme/web@sha512:" + std::string(64, 'a'),
                                   "ghcr.io/acme/web@sha256:" + std::string(65, 'a'),
                                   "ghcr.io/acme/web@sha256:" + std::string(64, 'a') + "@x",
                                   std::string("ghcr.io/Acme/web"),
                                   std::string("ghcr.io/acme/web\n"),
                                   std::string("ghcr.io/acme/-web"),
                                   std::string("ghcr.io/acme/web-"),
                                   std::string("ghcr.io/zoë/web"),
                                   std::string("ghcr.io/acme/web?x=1"),
                                   std::string("ghcr.io/acme:80/web"),
                                   std::string("ghcr.io/a\0b", 11),
                                   "ghcr.io/" + std::string(deployments::max_image_length, 'a'),
                                   std::string()}) {
    INFO(image);
    CHECK(with([&](Order& o) { o.container.image = image; }) == invalid);
    CHECK(wrong_fields([&](Order& o) { o.container.image = image; }) == Fields{"image"});
  }
}

TEST_CASE("a port is between 1 and 65535") {
  CHECK(order().container.port == 3000);
  for (const int port : {1, 80, 65535})
    CHECK(with([&](Order& o) { o.container.port = port; }) == "");
  for (const int port : {0, -1, 65536, INT_MAX, INT_MIN}) {
    INFO(port);
    CHECK(wrong_fields([&](Order& o) { o.container.port = port; }) == Fields{"port"});
  }
}

std::map<std::string, std::string> variables(int count) {
  std::map<std::string, std::string> env;
  for (int i = 0; i < count; ++i) env["KEY_" + std::to_string(i)] = "value";
  return env;
}

TEST_CASE("there are at most 50 variables") {
  CHECK(with([](Order& o) { o.secrets.env = variables(50); }) == "");
  CHECK(wrong_fields([](Order& o) { o.secrets.env = variables(51); }) == Fields{"env_vars"});
}

TEST_CASE("variables have names as in a shell, and not the platform's") {
  const std::string longest(deployments::max_env_key_length, 'K');
  for (const std::string& key :
       {std::string("A"), std::string("_"), std::string("a1"), std::string("Path_2"),
        std::string("BERTH"), std::string("BERTHA_X"), std::string("berth_x"), longest}) {
    INFO(key);
    CHECK(with([&](Order& o) { o.secrets.env[key] = "x"; }) == "");
  }
  for (const std::string& key :
       {std::string(), std::string("1A"), std::string("A-B"), std::string("A.B"),
        std::string("A B"), std::string("A=B"), std::string("Ä"), std::string("A\0B", 3),
        std::string("A\n"), std::string("BERTH_"), std::string("BERTH_TOKEN")}) {
    INFO(key);
    CHECK(wrong_fields([&](Order& o) { o.secrets.env[key] = "x"; }) == Fields{"env_vars." + key});
  }
  CHECK(wrong_fields([&](Order& o) { o.secrets.env[longest + "K"] = "x"; }) ==
        Fields{"env_vars." + longest});
}

TEST_CASE("a refused variable's name stays UTF-8 if it is cut") {
  const std::string key = std::string(deployments::max_env_key_length - 1, 'K') + "🌱";
  CHECK(wrong_fields([&](Order& o) { o.secrets.env[key] = "x"; }) ==
        Fields{"env_vars." + std::string(deployments::max_env_key_length - 1, 'K')});
}

TEST_CASE("values may contain anything but NUL, and are limited in total") {
  CHECK(with([](Order& o) { o.secrets.env["A"] = "line\nline\t=$(x) 🌱"; }) == "");
  CHECK(with([](Order& o) { o.secrets.env["A"] = ""; }) == "");
  CHECK(wrong_fields([](Order& o) { o.secrets.env["A"] = std::string("a\0b", 3); }) ==
        Fields{"env_vars.A"});
  CHECK(with([](Order& o) {
          o.secrets.env["A"] = std::string(deployments::max_env_bytes - 1, 'x');
        }) == "");
  CHECK(wrong_fields([](Order& o) {
          o.secrets.env["A"] = std::string(deployments::max_env_bytes, 'x');
        }) == Fields{"env_vars"});
}

TEST_CASE("no refusal repeats a variable's value") {
  Order bad = order();
  bad.secrets.env = {
      {"BERTH_X", "hunter2"}, {"1", "hunter2"}, {"NUL", std::string("hunter2\0", 8)}};
  try {
    deployments::check(bad, rules);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
    for (const auto& [field, reasons] : error.details)
      for (const auto& reason : reasons) CHECK(reason.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a health path is a path") {
  for (const char* path : {"/", "/health", "/health?deep=1"})
    CHECK(with([&](Order& o) { o.container.health_path = path; }) == "");
  for (const std::string& path :
       {std::string("health"), std::string("/a b"), std::string("/\r\nX: y"), std::string("/ä"),
        "/" + std::string(deployments::max_health_path_length, 'x')})
    CHECK(wrong_fields([&](Order& o) { o.container.health_path = path; }) == Fields{"health_path"});
}

TEST_CASE("a custom domain is a registrable host name of the operator's own") {
  for (const char* domain : {"shop.example.com", "example.com", "a.b.c.example.co.uk",
                             "xn--bcher-kva.example", "example.org"}) {
    INFO(domain);
    CHECK(with([&](Order& o) { o.custom_domain = domain; }) == "");
  }
  for (const std::string& domain : {std::string(),
                                    std::string("localhost"),
                                    std::string("com"),
                                    std::string("co.uk"),
                                    std::string("github.io"),
                                    std::string("*.example.com"),
                                    std::string("Example.com"),
                                    std::string("example.com."),
                                    std::string(".example.com"),
                                    std::string("exa mple.com"),
                                    std::string("192.0.2.1"),
                                    std::string("[2001:db8::1]"),
                                    std::string("2001:db8::1"),
                                    std::string("-a.example.com"),
                                    std::string("a..example.com"),
                                    std::string("example.com:80"),
                                    std::string("https://example.com"),
                                    std::string("example.com/"),
                                    std::string("bücher.example"),
                                    std::string("apps.example.org"),
                                    std::string("shop.apps.example.org"),
                                    std::string("api.example.org"),
                                    std::string("x.api.example.org"),
                                    std::string(64, 'a') + ".example.com",
                                    std::string(250, 'a') + ".com"}) {
    INFO(domain);
    CHECK(wrong_fields([&](Order& o) { o.custom_domain = domain; }) == Fields{"custom_domain"});
  }
}

TEST_CASE("all errors are reported at once, and before the registry") {
  CHECK(wrong_fields([](Order& o) {
          o.name = "-";
          o.container.image = "quay.io/x";
          o.tier = "";
          o.container.port = 0;
          o.secrets.env["1"] = "";
          o.container.health_path = "x";
          o.custom_domain = "*";
        }) == Fields{"custom_domain", "env_vars.1", "health_path", "name", "port", "tier"});
  CHECK(wrong_fields([](Order& o) { o.container.image = "quay.io/x"; }) == Fields{"image"});
}

}  // namespace
