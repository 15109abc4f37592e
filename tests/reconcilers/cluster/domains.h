#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "tests/dns/server.h"
#include "tests/reconcilers/cluster/world.h"

namespace berth::reconcilers::test {

// A name server whose records a test changes.
class Dns {
 public:
  Dns();
  // Replaces all records; at first there are none.
  void set(std::vector<dns::test::Record> records);
  void point(const std::string& domain, const std::string& target);
  void fail();  // answers SERVFAIL to everything until the next set()
  // Names that contain this get no answer.
  static constexpr const char* silent = "silent";
  std::string text() const { return server_.text(); }

 private:
  std::vector<std::string> answer(const dns::test::Question& question);

  std::mutex mutex_;
  std::vector<dns::test::Record> records_;
  bool fails_ = false;
  dns::test::Server server_;  // the last member, because it uses the others
};

// A world with an issuer of certificates and that name server. Its engine isn't started yet.
class DomainWorld : public World {
 public:
  DomainWorld(kube::Kubeconfig cluster, const Dns& dns);

  std::string deploy_with(const std::string& app, const std::string& domain,
                          const Wanted& wanted = {});
  custom_domains::Claim claim(const std::string& deployment);
  void claim(const std::string& deployment, const std::string& domain);
  void release(const std::string& deployment);
  // Makes the next check of the domain due.
  void look_again(const std::string& deployment);
  // Makes checks due until the claim has this state. Returns whether it gets there.
  bool becomes(const std::string& deployment, custom_domains::State state);
  bool is_refused(const std::string& deployment, custom_domains::Reason reason);
  bool looks_until(const std::string& deployment, const std::function<bool()>& condition);

  // Returns the objects of the deployment's custom domains.
  std::vector<Object> of_domain(const kube::Resource& resource, const std::string& deployment);
  bool has_nothing_of_domain(const std::string& deployment);
};

}  // namespace berth::reconcilers::test
