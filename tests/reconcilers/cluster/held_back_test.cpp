// What berth can't do now, or holds back, is said by a reason, a phase and an event.
#include <catch2/catch.hpp>

#include "reconcilers/cluster/failures.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/domains.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;

namespace {

const std::string host = "shop.apps.example";

// A platform on which each sub-domain has a certificate of its own.
struct Platform {
  Dns dns;
  embedded::Cluster cluster;
  DomainWorld world;

  explicit Platform(const embedded::Options& options = quick())
      : cluster(options), world(config_of(cluster), dns) {
    world.settings().wildcard_tls_secret.reset();
    world.options.patience.writing = std::chrono::milliseconds(100);
  }
  bool has(const std::string& id, Reason reason) {
    return eventually([&] { return world.row(id).reason == reason; });
  }
  std::string message(const std::string& id) { return world.row(id).message.value_or(""); }
  // Orders of this host, or of this owner for others, that were made before.
  void order_before(const std::string& id, int count, bool of_host) {
    const auto row = world.row(id);
    world.database().write([&](db::Tx& tx) {
      for (int i = 0; i < count; ++i)
        certificate_orders::take(
            tx, {.owner_id = row.owner_id,
                 .app_id = row.app_id,
                 .domain = of_host ? host : "x" + std::to_string(i) + ".example.com"});
    });
  }
  bool has_event(const std::string& id, const std::string& reason) {
    return world.database().read([&](db::Tx& tx) {
      return tx.number(
                 "SELECT count(*) FROM app_events WHERE subject = $1 AND type = "
                 "'deployment.status' AND data LIKE $2",
                 id, "%\"reason\":\"" + reason + "\"%") > 0;
    });
  }
};

embedded::Options slow_issuer() {
  auto options = quick();
  options.timing.issue = std::chrono::hours(1);
  return options;
}

}  // namespace

TEST_CASE("whatever keeps a sub-domain from its certificate is said") {
  struct Row {
    const char* what;
    Reason reason;
    const char* says;
    std::function<void(Platform&)> before = {};
    std::function<void(Platform&, const std::string& id)> orders = {};
    bool is_slow = false;
  };
  const auto no_cert_manager = [](Platform& p) {
    p.cluster.fail_next(1'000'000, 404, std::nullopt, {.verb = "", .plural = "certificates"});
  };
  const auto refusing = [](Platform& p) { p.cluster.refuse_certificates("the CA said no"); };
  const Row rows[] = {
      {"it is late", Reason::certificate_pending, "isn't issued yet", {}, {}, true},
      {"the fifth one of a name in a week",
       Reason::certificate_pending,
       "4 certificates were ordered for shop.apps.example within a week",
       {},
       [](Platform& p, const std::string& id) { p.order_before(id, 4, true); }},
      {"an account's 31st",
       Reason::certificate_pending,
       "the account has ordered 30 certificates within a week",
       {},
       [](Platform& p, const std::string& id) { p.order_before(id, 30, false); }},
      {"a failed Certificate", Reason::certificate_failed, "the CA said no", refusing},
      {"no cert-manager", Reason::certificate_pending, "has no cert-manager", no_cert_manager},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Platform p(row.is_slow ? slow_issuer() : quick());
    if (row.before) row.before(p);
    const std::string id = p.world.deploy(p.world.new_app());
    if (row.orders) row.orders(p, id);
    p.world.wake();
    REQUIRE(p.has(id, row.reason));
    INFO(p.message(id));
    CHECK(p.message(id).find(row.says) != std::string::npos);
    CHECK(p.message(id).find(host) != std::string::npos);
    const auto seen = p.world.row(id);
    CHECK(seen.status == Status::running);
    CHECK(seen.health_status == deployments::HealthStatus::healthy);
    if (row.reason == Reason::certificate_pending)
      CHECK(seen.phase == "waiting for the certificate");
    CHECK(p.has_event(id, std::string(to_string(row.reason))));
    // Nothing is written while nothing changes.
    REQUIRE(p.world.settles());
    const auto commits = p.world.database().commits();
    p.world.engine().enqueue(id);
    REQUIRE(p.world.settles());
    CHECK(p.world.database().commits() == commits);
  }
  CHECK(std::size(rows) == 5);
}

TEST_CASE("the reason goes when the certificate comes, and its order has a result") {
  Platform p;
  p.cluster.refuse_certificates("the CA said no");
  const std::string id = p.world.deploy(p.world.new_app());
  p.world.wake();
  REQUIRE(p.has(id, Reason::certificate_failed));
  const auto failed = [&] {
    return p.world.database().read([](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM certificate_orders WHERE outcome = 'failed'");
    });
  };
  CHECK(failed() == 1);
  p.world.destroy(id);
  REQUIRE(p.world.is_removed(id));
  p.cluster.refuse_certificates("");
  const std::string next = p.world.deploy(p.world.new_app());
  REQUIRE(p.world.is(next, Status::running));
  CHECK(eventually([&] { return !p.world.row(next).reason; }));
  CHECK(p.world.row(next).phase.empty());
}

TEST_CASE("a custom domain that waits for the budget of orders is pending, and hasn't failed") {
  Platform p;
  p.world.settings().wildcard_tls_secret = "ingress/wildcard";
  p.dns.point("www.shop.example", host);
  const std::string id = p.world.deploy_with(p.world.new_app(), "www.shop.example");
  p.order_before(id, 30, false);
  p.world.wake();
  REQUIRE(p.has(id, Reason::certificate_pending));
  CHECK(p.world.row(id).phase == "waiting for the certificate");
  CHECK(p.world.claim(id).reason == custom_domains::Reason::order_budget);
}

TEST_CASE("lasting errors of the API server on writes are told, with the name of who fails") {
  const std::string plural = GENERATE(as<std::string>{}, "namespaces", "resourcequotas", "secrets",
                                      "services", "deployments", "ingresses", "certificates");
  INFO(plural);
  Platform p;
  for (const char* verb : {"create", "apply"})
    p.cluster.fail_next(1'000'000, 503, std::nullopt, {.verb = verb, .plural = plural});
  p.world.wake();
  const std::string id = p.world.deploy(p.world.new_app());
  REQUIRE(p.has(id, Reason::cluster_refuses_writes));
  CHECK(p.message(id).find("the Kubernetes API server fails, with the status 503: ") == 0);
  CHECK(p.world.row(id).phase == "waiting for the cluster");
  CHECK(p.has_event(id, "cluster_refuses_writes"));
  p.cluster.clear_failures();
  CHECK(p.world.is(id, Status::running));
  CHECK(eventually([&] { return !p.world.row(id).reason; }));
}

TEST_CASE("a change and a stop that the API server doesn't take are told as well") {
  Platform p;
  p.world.wake();
  const std::string id = p.world.deploy(p.world.new_app());
  REQUIRE(p.world.is(id, Status::running));
  const std::string change = GENERATE(as<std::string>{}, "a new image", "a stop");
  INFO(change);
  p.cluster.fail_next(1'000'000, 500, std::nullopt, {.verb = "apply", .plural = "deployments"});
  if (change == "a stop")
    p.world.stop(id);
  else
    p.world.change(id, "image = 'ghcr.io/acme/web:2', status = 'deploying'");
  CHECK(p.has(id, Reason::cluster_refuses_writes));
  p.cluster.clear_failures();
  CHECK(eventually([&] { return !p.world.row(id).reason; }));
}

TEST_CASE("a short failure of the API server isn't told") {
  Platform p;
  p.world.options.patience.writing = std::chrono::minutes(10);
  for (const char* verb : {"create", "apply"})
    p.cluster.fail_next(4, 500, std::nullopt, {.verb = verb, .plural = ""});
  p.world.wake();
  const std::string id = p.world.deploy(p.world.new_app());
  CHECK(p.world.is(id, Status::running));
  CHECK_FALSE(p.has_event(id, "cluster_refuses_writes"));
}

TEST_CASE("the words of a failure say who fails") {
  struct Row {
    int status;
    const char* words;
    const char* who;
  };
  const Row rows[] = {
      {500,
       "Internal error occurred: failed calling webhook \"policy.example.org\": failed to call "
       "webhook: Post \"https://policy.kube-system.svc:443/?timeout=10s\": dial tcp "
       "10.96.3.1:443: connect: connection refused",
       "the admission webhook policy.example.org"},
      {500, "admission webhook \"policy.example.org\" denied the request: out of order",
       "the admission webhook policy.example.org"},
      {500, "etcdserver: request timed out", "the Kubernetes API server's database (etcd)"},
      {500, "etcdserver: mvcc: database space exceeded",
       "the Kubernetes API server's database (etcd)"},
      {503, "rpc error: code = Unavailable desc = error reading from server: EOF",
       "the Kubernetes API server's database (etcd)"},
      {503, "the server is currently unable to handle the request", "the Kubernetes API server"},
      {504, "Timeout: request did not complete within requested timeout",
       "the Kubernetes API server"},
      {429, "too many requests, please try again later", "the Kubernetes API server"},
  };
  for (const Row& row : rows) CHECK(who_fails({row.status, "", row.words}) == row.who);
}

TEST_CASE("an object that somebody else keeps deleting is named") {
  const std::string plural = GENERATE(as<std::string>{}, "services", "ingresses");
  Platform p;
  p.world.settings().wildcard_tls_secret = "ingress/wildcard";
  p.world.wake();
  const std::string id = p.world.deploy(p.world.new_app());
  REQUIRE(p.world.is(id, Status::running));
  REQUIRE(eventually([&] {
    for (const Object& object : p.cluster.list(plural, "", "berth/deployment=" + id))
      p.cluster.remove(plural, namespace_of(object), name_of(object));
    return p.world.row(id).reason == Reason::changed_by_others;
  }));
  CHECK(p.message(id).find(std::string("somebody else keeps changing or deleting the ") +
                           (plural == "services" ? "Service" : "Ingress") + " berth-" + id) == 0);
  CHECK(p.has_event(id, "changed_by_others"));
}
