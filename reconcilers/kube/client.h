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

#include "controller/base/clock.h"
#include "reconcilers/kube/kubeconfig.h"

// A client of the Kubernetes REST API over libcurl, with just the verbs that berth uses.
namespace berth::kube {

using Object = nlohmann::json;

// A kind of object, and where the API server serves it.
struct Resource {
  std::string_view api_version;  // "v1", "apps/v1"
  std::string_view kind;         // "Deployment"
  std::string_view plural;       // "deployments"
  bool namespaced = true;
};

inline constexpr Resource namespaces{"v1", "Namespace", "namespaces", false};
inline constexpr Resource nodes{"v1", "Node", "nodes", false};
inline constexpr Resource secrets{"v1", "Secret", "secrets"};
inline constexpr Resource services{"v1", "Service", "services"};
inline constexpr Resource pods{"v1", "Pod", "pods"};
inline constexpr Resource events{"v1", "Event", "events"};
inline constexpr Resource service_accounts{"v1", "ServiceAccount", "serviceaccounts"};
inline constexpr Resource resource_quotas{"v1", "ResourceQuota", "resourcequotas"};
inline constexpr Resource limit_ranges{"v1", "LimitRange", "limitranges"};
inline constexpr Resource deployments{"apps/v1", "Deployment", "deployments"};
inline constexpr Resource replica_sets{"apps/v1", "ReplicaSet", "replicasets"};
inline constexpr Resource jobs{"batch/v1", "Job", "jobs"};
inline constexpr Resource pod_disruption_budgets{"policy/v1", "PodDisruptionBudget",
                                                 "poddisruptionbudgets"};
inline constexpr Resource ingresses{"networking.k8s.io/v1", "Ingress", "ingresses"};
inline constexpr Resource network_policies{"networking.k8s.io/v1", "NetworkPolicy",
                                           "networkpolicies"};
inline constexpr Resource role_bindings{"rbac.authorization.k8s.io/v1", "RoleBinding",
                                        "rolebindings"};
inline constexpr Resource leases{"coordination.k8s.io/v1", "Lease", "leases"};
inline constexpr Resource token_reviews{"authentication.k8s.io/v1", "TokenReview", "tokenreviews",
                                        false};
inline constexpr Resource certificates{"cert-manager.io/v1", "Certificate", "certificates"};

// The resource above that an object's apiVersion and kind belong to. Throws std::invalid_argument
// if there is none.
const Resource& resource_of(const Object& object);

// The API server refused a request, or gave no usable answer. `what()` contains the server's own
// words and never a credential.
struct ApiError : std::runtime_error {
  ApiError(int http_status, std::string status_reason, const std::string& message,
           std::optional<std::chrono::seconds> wait = std::nullopt)
      : std::runtime_error(message),
        status(http_status),
        reason(std::move(status_reason)),
        retry_after(wait) {}
  // The HTTP status. 0 means that there was no usable answer: connection refused, time-out, TLS
  // failure, no credentials available, or an answer that isn't JSON or is too large.
  int status;
  std::string reason;  // the Status object's: Conflict, Expired, Forbidden and so on; may be empty
  std::optional<std::chrono::seconds> retry_after;
  bool unreachable() const { return status == 0; }
  // 410, or a watch's ERROR event with code 410: the server no longer has the history, so the
  // objects have to be listed again.
  bool expired() const { return status == 410; }
};

// A write for which ClientOptions::write_time left no time. It wasn't sent.
struct Fenced : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ListOptions {
  std::string name_space;      // empty: all namespaces
  std::string label_selector;  // empty: all objects
  std::string field_selector;
};

struct List {
  std::vector<Object> items;  // each with its apiVersion and kind
  std::string resource_version;
};

// A token of a ServiceAccount (authentication.k8s.io/v1, TokenRequest).
struct IssuedToken {
  std::string token;
  Instant expires;
};

// Returns the part of a listed object that is kept.
using ItemFilter = std::function<Object(Object)>;

// Which part of a pod's log is wanted
// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod).
struct LogOptions {
  bool previous = false;   // returns the log of the run before the last restart
  bool follow = false;     // go on until the run ends
  std::string since_time;  // RFC 3339; the API server passes on whole seconds only; empty: from the
                           // beginning
  std::optional<int> tail_lines;
  // How long the whole answer may take. Without it, only silence ends an answer.
  std::optional<std::chrono::milliseconds> within = {};
};

enum class EventType { added, modified, deleted, bookmark };

// Called after the answer to each HTTP attempt, or its failure (status 0), for metrics; for a
// watch, as soon as its answer begins. Not called for requests that were stopped. Several threads
// may call it at the same time, and it must not throw. `verb` is one of get, list, watch, apply,
// create, merge, update, delete and logs; `plural` is empty for raw paths.
using RequestObserver = std::function<void(std::string_view verb, std::string_view plural,
                                           int status, std::chrono::nanoseconds took)>;

struct ClientOptions {
  std::chrono::seconds connect_timeout{5};
  std::chrono::seconds request_timeout{30};  // for everything except watches and streamed logs
  // A watch that is silent for longer than this is considered dead: the server sends a bookmark
  // every minute.
  std::chrono::seconds watch_silence{90};
  // How often a 429 or 503 with Retry-After is tried again. The wait is what the server says, up to
  // max_retry_after.
  int max_retries = 3;
  std::chrono::seconds max_retry_after{10};
  std::string field_manager = "berth";
  RequestObserver observer;
  // Called right before each attempt of a write. Returns how long the attempt may take
  // (request_timeout still applies), or nothing; the write is then not sent and the call throws
  // Fenced. If the function is empty, every write may be sent. Several threads may call it at the
  // same time.
  std::function<std::optional<std::chrono::milliseconds>()> write_time;
};

// A client of one API server. Thread-safe: each call takes a connection from a pool, where it is
// kept alive between calls; at most 128 are in use at once, and further callers wait up to
// request_timeout. Redirects aren't followed, and no proxy is used but the kubeconfig's, not even
// one set in the environment. All functions except the constructor throw ApiError; they throw
// std::invalid_argument for a name or namespace that is missing or malformed, and for an object
// whose kind berth doesn't know.
//
// After a 401 the client reads its credentials again (files, exec plugin) and tries once more. A
// 429 or 503 with Retry-After is tried again, see ClientOptions.
class Client {
 public:
  // Doesn't connect. Throws std::invalid_argument for a server address that load_kubeconfig() would
  // refuse.
  Client(Kubeconfig config, ClientOptions options = {});
  // Makes calls of other threads end with an ApiError within a second, and waits for them. Must not
  // be called from within `on_event`.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Returns nothing if the object doesn't exist. Throws ApiError 404 if the kind doesn't exist (a
  // custom resource that isn't installed). `name_space` is ignored for cluster-scoped kinds.
  std::optional<Object> get(const Resource& resource, const std::string& name_space,
                            const std::string& name);
  // All matching objects as of one resourceVersion, read in pages of 100 (`limit` and `continue`).
  // If the server no longer has that version (410), the list starts over, once. `shorten` is called
  // for each item as its page arrives, so never more than one complete page is in memory.
  List list(const Resource& resource, const ListOptions& options, const ItemFilter& shorten = {});
  // Server-side apply with ClientOptions::field_manager and `force`. Returns the object as it is
  // afterwards.
  Object apply(const Object& object);
  Object create(const Object& object);
  // Changes the fields that `change` has, and no others (JSON merge patch, RFC 7396); `change`
  // names the object as a whole one would. If it has a metadata.resourceVersion, throws ApiError
  // 409 if somebody else has changed the object since.
  Object merge(const Object& change);
  // Gives the container of a running pod other amounts of memory and CPU, without starting it anew
  // (kubernetes.io, "Resize CPU and Memory Resources assigned to Containers"). `resources` are
  // those that change. Returns the pod, whose kubelet hasn't done it yet. Throws ApiError 404 also
  // if the API server has no such operation (before Kubernetes 1.33).
  Object resize(const std::string& name_space, const std::string& pod, const std::string& container,
                const Object& resources);
  // Requests a token of a ServiceAccount that is valid for `life`, at least 600 s.
  IssuedToken request_token(const std::string& name_space, const std::string& account,
                            std::chrono::seconds life);
  // Asks whose token it is, for `audience` (authentication.k8s.io/v1, TokenReview). Returns the
  // user's name; nothing if the API server doesn't accept the token.
  std::optional<std::string> review_token(const std::string& token, const std::string& audience);
  // Replaces the object (PUT). `object` needs a metadata.resourceVersion; throws ApiError 409 if
  // somebody else has changed it since.
  Object update(const Object& object);
  // Deletes an object and, in the background, its dependents. Returns true if the deletion has
  // started or was already under way, false if there was no such object or its uid isn't `uid`
  // (unless that is empty).
  bool remove(const Resource& resource, const std::string& name_space, const std::string& name,
              const std::string& uid = "");
  // Calls `on_event` for each event after `resource_version`, in order, until the stream ends
  // normally (returns), `stop` is requested (returns within a second), or the watch fails
  // (ApiError: expired() if the history is gone, status 0 if nothing arrived for watch_silence). It
  // requests bookmarks, events whose object has a metadata.resourceVersion and nothing else. An
  // exception from `on_event` ends the watch and is passed on.
  void watch(const Resource& resource, const ListOptions& options,
             const std::string& resource_version,
             const std::function<void(EventType, const Object&)>& on_event, std::stop_token stop);
  // Returns the last `tail_lines` lines of a pod's log, 4 MiB at most.
  std::string logs(const std::string& name_space, const std::string& pod, int tail_lines,
                   bool previous);
  // Streams a pod's log, each line preceded by the kubelet's time stamp. Returns at the end of the
  // log, or within a second after a stop. Throws ApiError with status 0 if nothing arrived for
  // watch_silence, usually because the container writes nothing, or if it took longer than
  // LogOptions::within. An exception from `on_piece` is passed on.
  void stream_logs(const std::string& name_space, const std::string& pod, const LogOptions& options,
                   const std::function<void(std::string_view)>& on_piece,
                   const std::stop_token& stop);
  // Returns the body of a GET of a path such as /version or /readyz.
  std::string raw(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::kube
