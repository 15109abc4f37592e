#include "tests/reconcilers/cluster/domains.h"

namespace berth::reconcilers::test {

Dns::Dns() : server_([this](const dns::test::Question& question) { return answer(question); }) {}

std::vector<std::string> Dns::answer(const dns::test::Question& question) {
  const std::lock_guard lock(mutex_);
  if (question.name.find(silent) != std::string::npos) return {};
  if (fails_) return {dns::test::reply(question, {}, dns::test::server_failure)};
  return dns::test::from_zone(question, records_);
}

void Dns::set(std::vector<dns::test::Record> records) {
  const std::lock_guard lock(mutex_);
  records_ = std::move(records);
  fails_ = false;
}

void Dns::point(const std::string& domain, const std::string& target) {
  set({dns::test::alias(domain, target), dns::test::address(target, "192.0.2.80")});
}

void Dns::fail() {
  const std::lock_guard lock(mutex_);
  fails_ = true;
}

DomainWorld::DomainWorld(kube::Kubeconfig cluster, const Dns& dns) : World(std::move(cluster)) {
  settings().cluster_issuer = "issuer-of-the-tests";
  settings().wildcard_tls_secret = "ingress/wildcard";
  // The server answers at once, and later on a busy machine: no answer is a result of its own.
  options.dns = {.servers = {dns.text()},
                 .patience = std::chrono::seconds(10),
                 .tries = 1,
                 .deadline = std::chrono::seconds(20)};
}

std::string DomainWorld::deploy_with(const std::string& app, const std::string& domain,
                                     const Wanted& wanted) {
  const std::string id = deploy(app, wanted);
  claim(id, domain);
  return id;
}

custom_domains::Claim DomainWorld::claim(const std::string& deployment) {
  return database().read(
      [&](db::Tx& tx) { return custom_domains::newest(tx, deployment).value(); });
}

void DomainWorld::claim(const std::string& deployment, const std::string& domain) {
  const auto owner = row(deployment);
  database().write([&](db::Tx& tx) {
    custom_domains::claim(
        tx, {.deployment_id = deployment, .app_id = owner.app_id, .owner_id = owner.owner_id},
        domain, std::string(32, 'k'));
  });
}

void DomainWorld::release(const std::string& deployment) {
  database().write([&](db::Tx& tx) { custom_domains::release(tx, deployment); });
}

void DomainWorld::look_again(const std::string& deployment) {
  const Instant due = claim(deployment).next_check_at;
  clock().advance(std::max(due - clock().now(), Duration(0)));
  engine().enqueue_domain(deployment);
}

bool DomainWorld::looks_until(const std::string& deployment,
                              const std::function<bool()>& condition) {
  return eventually([&] {
    if (condition()) return true;
    look_again(deployment);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return condition();
  });
}

bool DomainWorld::becomes(const std::string& deployment, custom_domains::State state) {
  return looks_until(deployment, [&] { return claim(deployment).state == state; });
}

bool DomainWorld::is_refused(const std::string& deployment, custom_domains::Reason reason) {
  return looks_until(deployment, [&] { return claim(deployment).reason == reason; });
}

std::vector<Object> DomainWorld::of_domain(const kube::Resource& resource,
                                           const std::string& deployment) {
  auto all = objects(resource, deployment);
  std::erase_if(all, [](const Object& object) { return !is_of_domain(object); });
  return all;
}

bool DomainWorld::has_nothing_of_domain(const std::string& deployment) {
  return eventually([&] {
    return of_domain(kube::certificates, deployment).empty() &&
           of_domain(kube::ingresses, deployment).empty() &&
           of_domain(kube::secrets, deployment).empty();
  });
}

}  // namespace berth::reconcilers::test
