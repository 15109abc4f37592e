#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/unix_http.h"

namespace berth::embedded::podman {

// A namespace's network: a bridge with addresses of its own.
struct Network {
  std::string name;  // for podman, and of the bridge
  int number = 0;    // of its block of addresses

  std::string subnet() const;   // `10.208.7.0/24`
  std::string gateway() const;  // the machine's own address there
  std::string address(int host) const;
};

// The networks of this installation's namespaces. 4,096 blocks with 253 addresses each lie in
// 10.208.0.0/12. Thread-safe; functions that call podman say so.
class Networks {
 public:
  static constexpr int most_networks = 4'096;
  static constexpr int first_host = 2;
  static constexpr int last_host = 254;

  // `call` speaks to podman (see PodmanRuntime); it throws UnixHttpError.
  using Call = std::function<UnixAnswer(UnixCall)>;
  Networks(std::string instance, Call call);

  // Asks podman for the networks that exist.
  void load();
  std::map<std::string, Network> all() const;  // by namespace
  // Makes the namespace's network by podman unless it exists. `made` says whether it was made.
  // Throws std::runtime_error in podman's words, or if there is no block left.
  Network ensure(const std::string& name_space, bool& made);
  // Removes it by podman; no container may be left in it.
  void remove(const std::string& name_space);

  // The address of a pod, which stays the same until release(). Throws std::runtime_error if the
  // network is full.
  std::string address_of(const std::string& uid, const std::string& name_space);
  // For a pod whose container exists already.
  void keep_address(const std::string& uid, const std::string& name_space,
                    const std::string& address);
  void release(const std::string& uid);

 private:
  struct Lease {
    std::string name_space;
    int host = 0;
  };
  std::string name_of(int number) const;
  int free_number() const;

  const std::string instance_;
  const Call call_;
  mutable std::mutex mutex_;
  std::mutex making_;  // one network is made at a time
  std::map<std::string, Network> networks_;
  std::map<std::string, Lease> leases_;          // by the pod's uid
  std::map<std::string, std::set<int>> in_use_;  // hosts, by namespace
  std::map<std::string, int> last_host_;         // that was given
};

// A fixed hardware address for an address, so that neighbours need not look for it again when
// another container of the pod has it.
std::string hardware_address(const std::string& address);

}  // namespace berth::embedded::podman
