#pragma once

#include <deque>

#include "controller/transport/http.h"
#include "reconcilers/embedded/apiserver/pod_tokens.h"
#include "reconcilers/embedded/apiserver/registry.h"
#include "reconcilers/embedded/apiserver/selectors.h"
#include "reconcilers/embedded/faults.h"
#include "reconcilers/embedded/node/kubelet.h"

namespace berth::embedded {

// The REST API of the embedded cluster: turns paths and parameters into operations, and results
// into answers. Thread-safe; it takes the store's mutex itself.
class Rest {
 public:
  // If `token` isn't empty, requests without it are refused.
  Rest(Store& store, Registry& registry, const Kubelet& kubelet, const PodTokens& tokens,
       Faults& faults, std::chrono::milliseconds bookmark_interval, std::string token)
      : store_(store),
        registry_(registry),
        kubelet_(kubelet),
        tokens_(tokens),
        faults_(faults),
        bookmark_interval_(bookmark_interval),
        token_(std::move(token)) {}

  void handle(const api::Request& request, api::Response& response);
  // Forgets the lists that clients are reading in pages, so that they can't be continued. The
  // caller must hold the store's mutex.
  void forget_pages() { pages_.clear(); }

 private:
  // What a path refers to: /apis/{group}/{version}/namespaces/{ns}/{plural}/{name}/{subresource}.
  struct Target {
    const Type* type = nullptr;  // null: not the path of an object
    std::string name_space;
    std::string name;
    std::string subresource;
    std::string raw;  // the whole path, if `type` is null
  };
  using Items = std::vector<std::pair<Key, StoredPtr>>;
  // The remainder of a list that is read in pages.
  struct Page {
    std::string token;
    std::uint64_t version;
    std::shared_ptr<const Items> items;
    size_t begin;
    std::chrono::steady_clock::time_point made;
  };
  struct Call {
    const api::Request& request;
    api::Response& response;
    Target target;
    std::string verb;
  };
  static constexpr size_t most_pages = 256;
  // A list that isn't continued within this time has to start over, as after etcd's compaction.
  static constexpr std::chrono::minutes longest_page{5};
  static constexpr size_t token_length = 24;

  static Target target_of(const std::string& path);
  static std::string verb_of(const api::Request& request, const Target& target);
  bool is_authentic(const api::Request& request) const;
  void dispatch(Call& call);
  bool meets_fault(Call& call);
  void raw(Call& call);
  void review_token(Call& call);
  void get(Call& call);
  void list(Call& call);
  void watch(Call& call);
  void create(Call& call);
  void update(Call& call);
  void patch(Call& call);
  void remove(Call& call);
  void remove_collection(Call& call);
  void logs(Call& call);
  void metrics(Call& call);
  void record(const Call& call);

  Page first_page(const Call& call, const Selector& selector) const;
  Page continued(const std::string& token) const;
  std::string keep_page(Page rest);

  Store& store_;
  Registry& registry_;
  const Kubelet& kubelet_;
  const PodTokens& tokens_;
  Faults& faults_;
  std::chrono::milliseconds bookmark_interval_;
  const std::string token_;
  std::deque<Page> pages_;  // guarded by the store's mutex, oldest first
};

}  // namespace berth::embedded
