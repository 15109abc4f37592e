#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/kube/kubeconfig.h"

// A client of the Kubernetes REST API over libcurl: the verbs that berth uses and no others.
namespace berth::kube {

using Object = nlohmann::json;

// A kind of object and where the API server keeps it.
struct Resource {
  std::string_view api_version;  // "v1", "apps/v1"
  std::string_view kind;         // "Deployment"
  std::string_view plural;       // "deployments"
  bool namespaced = true;
};

inline constexpr Resource namespaces{"v1", "Namespace", "namespaces", false};
inline constexpr Resource secrets{"v1", "Secret", "secrets"};
inline constexpr Resource services{"v1", "Service", "services"};
inline constexpr Resource pods{"v1", "Pod", "pods"};
inline constexpr Resource events{"v1", "Event", "events"};
inline constexpr Resource service_accounts{"v1", "ServiceAccount", "serviceaccounts"};
inline constexpr Resource resource_quotas{"v1", "ResourceQuota", "resourcequotas"};
inline constexpr Resource limit_ranges{"v1", "LimitRange", "limitranges"};
inline constexpr Resource deployments{"apps/v1", "Deployment", "deployments"};
inline constexpr Resource replica_sets{"apps/v1", "ReplicaSet", "replicasets"};
inline constexpr Resource ingresses{"networking.k8s.io/v1", "Ingress", "ingresses"};
inline constexpr Resource network_policies{"networking.k8s.io/v1", "NetworkPolicy",
                                           "networkpolicies"};
inline constexpr Resource leases{"coordination.k8s.io/v1", "Lease", "leases"};
inline constexpr Resource certificates{"cert-manager.io/v1", "Certificate", "certificates"};

// The resource of an object's apiVersion and kind, among those above. Throws std::invalid_argument.
const Resource& resource_of(const Object& object);

// The API server refused, or gave no usable answer. `what()` holds its own words; never a
// credential.
struct ApiError : std::runtime_error {
  ApiError(int http_status, std::string status_reason, const std::string& message,
           std::optional<std::chrono::seconds> wait = std::nullopt)
      : std::runtime_error(message),
        status(http_status),
        reason(std::move(status_reason)),
        retry_after(wait) {}
  // Of HTTP. 0: no usable answer (connection refused, time-out, TLS, no credentials to show, an
  // answer that is no JSON or too large).
  int status;
  std::string reason;  // of the Status object: Conflict, Expired, Forbidden, …; may be empty
  std::optional<std::chrono::seconds> retry_after;
  bool unreachable() const { return status == 0; }
  // 410, or a watch's ERROR event with code 410: the watch history is gone, list again.
  bool expired() const { return status == 410; }
};

// A write that ClientOptions::write_time had no time for. It wasn't sent.
struct Fenced : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ListOptions {
  std::string name_space;      // empty: all of them
  std::string label_selector;  // empty: everything
  std::string field_selector;
};

struct List {
  std::vector<Object> items;  // each with its apiVersion and kind
  std::string resource_version;
};

// What is kept of an object of a list.
using ItemFilter = std::function<Object(Object)>;

// What of a pod's log is wanted
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod).
struct LogOptions {
  bool previous = false;   // of the run before the last start
  bool follow = false;     // until the run ends
  std::string since_time;  // RFC 3339; the API server hands on whole seconds; empty: all
  std::optional<int> tail_lines;
};

enum class EventType { added, modified, deleted, bookmark };

// Called after each HTTP attempt's answer (or failure: status 0) with what it was, for metrics; for
// a watch as soon as its first answer is there. What was stopped isn't told of. Several threads may
// call it at once; it must not throw. `plural` is empty for raw paths.
// `verb`: get, list, watch, apply, create, update, delete, logs.
using RequestObserver = std::function<void(std::string_view verb, std::string_view plural,
                                           int status, std::chrono::nanoseconds took)>;

struct ClientOptions {
  std::chrono::seconds connect_timeout{5};
  std::chrono::seconds request_timeout{30};  // of everything but watches
  // A watch whose connection is silent for longer is dead: the server sends bookmarks each minute.
  std::chrono::seconds watch_silence{90};
  // A 429 (or 503) with Retry-After is tried again so often, after the time that it says, capped.
  int max_retries = 3;
  std::chrono::seconds max_retry_after{10};
  std::string field_manager = "berth";
  RequestObserver observer;
  // Asked right before each attempt of a write: how long it may take at most (below
  // request_timeout), or nothing, and then it isn't sent and the call throws Fenced. Empty: any
  // write may be sent. Several threads may call it at once.
  std::function<std::optional<std::chrono::milliseconds>()> write_time;
};

// Thread-safe: each call uses a connection of its own out of a pool (kept alive between calls; at
// most 128 at once, the next caller waits for request_timeout). No redirects are followed and no
// proxy is used, not even one of the environment. Every call but the constructor throws ApiError;
// std::invalid_argument for a name or a namespace that is missing or can't be one, and for an
// object whose kind berth doesn't know.
//
// A 401 makes it read the credentials again (files, exec plugin) and try once more. A 429 or 503
// with Retry-After is tried again, see ClientOptions.
class Client {
 public:
  // Doesn't connect. Throws std::invalid_argument for a server that load_kubeconfig would refuse.
  Client(Kubeconfig config, ClientOptions options = {});
  // Calls that other threads are in end within a second with an ApiError; it waits for them. Not to
  // be called from within on_event.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Nothing where there is no such object; ApiError 404 where there is no such kind (a custom
  // resource that isn't installed). `name_space` is ignored for cluster-scoped kinds.
  std::optional<Object> get(const Resource& resource, const std::string& name_space,
                            const std::string& name);
  // Everything at one resourceVersion, read in pages of 100 (`limit` and `continue`). Begins again,
  // once, where the server forgot that version meanwhile (410).
  // `shorten` is called for each item as its page arrives: never more than a page is held whole.
  List list(const Resource& resource, const ListOptions& options, const ItemFilter& shorten = {});
  // Server-side apply with our field manager and force: the object as it is afterwards.
  Object apply(const Object& object);
  Object create(const Object& object);
  // PUT: `object` has a metadata.resourceVersion; ApiError 409 where somebody was faster.
  Object update(const Object& object);
  // In the background, dependents too. True where its deletion began or is under way already; false
  // where there was nothing, or with `uid` only something with another one.
  bool remove(const Resource& resource, const std::string& name_space, const std::string& name,
              const std::string& uid = "");
  // Calls `on_event` for each event after `resource_version`, in order, until the stream ends in
  // the normal way (returns), `stop` is requested (returns within a second), or it fails (ApiError;
  // expired() where the history is gone; status 0 where nothing came for watch_silence). Asks for
  // bookmarks, which hold a metadata.resourceVersion and nothing else. What `on_event` throws ends
  // the watch and comes out of here.
  void watch(const Resource& resource, const ListOptions& options,
             const std::string& resource_version,
             const std::function<void(EventType, const Object&)>& on_event, std::stop_token stop);
  // The pod's log: at most `tail_lines` of its newest lines, of those at most 4 MiB.
  std::string logs(const std::string& name_space, const std::string& pod, int tail_lines,
                   bool previous);
  // The pod's log as it comes, each line with the kubelet's time in front. Returns at its end, or
  // within a second of a stop; ApiError with status 0 where nothing came for watch_silence, which a
  // container that says nothing is the likeliest cause of. What `on_piece` throws comes out of
  // here.
  void stream_logs(const std::string& name_space, const std::string& pod, const LogOptions& options,
                   const std::function<void(std::string_view)>& on_piece, std::stop_token stop);
  // GET of a path such as /version or /readyz: its body.
  std::string raw(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::kube
