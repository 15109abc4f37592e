// Which host names operators may bring along, and which names deployments may have.
#include "controller/domain/deployments/custom_domains/domain_names.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/domain/deployments/rules.h"

using namespace berth;

namespace {

std::string refusal(const std::string& domain) {
  return domain_names::refusal(domain, "apps.example.net", "berth.example.org");
}

}  // namespace

TEST_CASE("names for which an issuer makes certificates may be used") {
  for (const char* domain :
       {"shop.example.com", "example.com", "a--b.example.com", "a-b--c.example.com",
        "xn--bcher-kva.de", "www.xn--bcher-kva.example.com", "shop.xn--p1ai", "shop.co.uk",
        "shop.test", "www.shop.example", "www.shop.ck", "shop.com.kh", "1.example.com",
        "xn--e1afmkfd.xn--p1ai"}) {
    INFO(domain);
    CHECK(refusal(domain).empty());
  }
}

TEST_CASE("names for which no issuer makes certificates are refused") {
  struct Row {
    const char* domain;
    const char* says;  // a part of the refusal
  };
  const Row rows[] = {
      // Hyphens that only punycode may have.
      {"ab--cd.example.com", "no certificate is issued"},
      {"www.ab--cd.com", "no certificate is issued"},
      {"--.example.com", "must be a host name"},
      {"zq--a.com", "no certificate is issued"},
      // Punycode that isn't any, and labels that IDNA 2008 doesn't allow or spells otherwise.
      {"xn--a.com", "no certificate is issued"},
      {"xn--.com", "must be a host name"},
      {"xn--abc-.com", "must be a host name"},
      {"xn--example.com", "no certificate is issued"},
      {"www.xn--99999999.com", "no certificate is issued"},
      {"xn--0000h.com", "no certificate is issued"},
      // Names of one network, and of none.
      {"printer.local", "public DNS"},
      {"a.b.local", "public DNS"},
      {"db.internal", "public DNS"},
      {"www.localhost", "public DNS"},
      {"nas.lan", "public DNS"},
      {"router.home", "public DNS"},
      {"server.corp", "public DNS"},
      {"x.invalid", "public DNS"},
      {"x.alt", "public DNS"},
      {"router.home.arpa", "public DNS"},
      {"7.in-addr.arpa", "public DNS"},
      {"expyuzz4wqqyqhjn.onion", "public DNS"},
      {"x.nosuchtopleveldomain", "public DNS"},
      // What was refused before.
      {"*.local", "must be a host name"},
      {"*.example.com", "must be a host name"},
      {"local", "must be a host name"},
      {"192.0.2.1", "must be a host name"},
      {"b\303\274cher.de", "xn--"},
      {"co.uk", "public suffix"},
      {"shop.ck", "public suffix"},
      {"shop.apps.example.net", "the platform"},
      {"berth.example.org", "the platform"},
  };
  for (const Row& row : rows) {
    INFO(row.domain << ": " << refusal(row.domain));
    CHECK(refusal(row.domain).find(row.says) != std::string::npos);
  }
}

TEST_CASE("no name of a deployment gets past the reserved ones by an encoding") {
  const deployments::Rules rules = {.registries = {"ghcr.io"},
                                    .apps_domain = "apps.example.net",
                                    .base_host = "berth.example.org",
                                    .reserved_names = ReservedNames({"admin", "berth"})};
  const auto is_taken = [&](const std::string& name) {
    deployments::Order order;
    order.name = name;
    order.tier = "free";
    order.container.image = "ghcr.io/acme/web:1";
    try {
      deployments::check(order, rules);
      return true;
    } catch (const Error& error) {
      CHECK(error.details.contains("name"));
      return false;
    }
  };
  // admin, berth and others with Cyrillic or wide letters; an encoding of plain ASCII, and none.
  for (const char* name : {"xn--dmin-43d", "xn--brth-v4d", "xn--adin-w5d", "xn--dmn-5cd6q",
                           "xn--erth-4g0y", "xn--admin-", "ab--cd", "xn--a", "admin", "berth"}) {
    INFO(name);
    CHECK_FALSE(is_taken(name));
  }
  for (const char* name : {"shop", "a--b", "a-b--c", "my-admin", "xn--bcher-kva"}) {
    INFO(name);
    CHECK(is_taken(name));
  }
}
