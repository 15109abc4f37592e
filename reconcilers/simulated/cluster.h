#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/simulated/apiserver/refusal.h"
#include "reconcilers/simulated/apiserver/types.h"
#include "reconcilers/simulated/faults.h"
#include "reconcilers/simulated/node/images.h"
#include "reconcilers/simulated/timing.h"

// A Kubernetes cluster in the process: what a kube-apiserver 1.34 answers over its REST API, and
// what controllers, scheduler and kubelet make of the objects, without any container. It is the
// cluster of `make run`, and the one that tests run against.
//
// Certificates of cert-manager are issued too, by any issuer of any name.
//
// What it does is what berth needs; where it answers, it answers as the real one: status codes,
// Status bodies and their wording, versions, watches, server-side apply with managedFields,
// defaults, quotas, PodSecurity, garbage collection. Not there: authentication (any request may do
// anything), protobuf and tables, fields that a kind doesn't have being refused, scopes of quotas,
// Jobs and the like, and any traffic to pods but page().
//
// What a container does follows from its image's name, so that it can be tried by hand: the last
// component of the repository begins with
//   missing          the image can't be pulled (ErrImagePull, ImagePullBackOff)
//   crash            it exits with 1 each time (CrashLoopBackOff)
//   oom              it is killed for its memory (OOMKilled, 137)
//   wrong-port, not-listening   it runs, but readiness and liveness probes find no open port
//   needs-root       it exits with 1 and `Permission denied`, unless it runs as user 0
//   unschedulable    no node has room for its pod (FailedScheduling)
//   talking          it runs, and writes two lines to its log ten times a second
// Everything else runs, and listens on the port that its readiness probe asks for.
namespace berth::simulated {

struct Options {
  Timing timing;
  std::uint64_t seed = 0;  // of names and uids; 0: others each time
  std::chrono::milliseconds bookmark_interval{60'000};
};

// What a visitor of a host name gets.
struct Page {
  int status;  // 200, 404 (no Ingress has the host), 503 (no ready pod behind it)
  std::string html;
};

// All functions may be called from any thread.
class Cluster {
 public:
  // Listens on 127.0.0.1 at a free port, without TLS, and starts the controllers. Has the
  // namespaces default, kube-system, kube-public and kube-node-lease, and one node. Throws
  // std::runtime_error where it can't listen.
  explicit Cluster(Options options = {});
  // Ends open watches and connections; takes a quarter of a second at most.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::string url() const;  // http://127.0.0.1:PORT
  int port() const;

  // Troubles. ---------------------------------------------------------------------------------

  // The next `times` requests that match get `status` and nothing happens: `fail_next(2, 503)`,
  // `fail_next(1, 429, 1, {"apply", "deployments"})`. Verbs: see Match.
  void fail_next(int times, int status, std::optional<int> retry_after = std::nullopt,
                 Match match = {});
  void clear_failures();
  // Each request waits that long for its answer.
  void set_latency(std::chrono::milliseconds latency);
  // Connections are taken but no request is answered until `answer_again`. Open watches go on.
  void stop_answering();
  void answer_again();
  // Open watches break off without an end.
  void drop_watches();
  // Forgets the history of changes, as etcd does now and then: open watches end with an ERROR event
  // 410, and so do new ones that start from an older resourceVersion; unfinished paged lists get
  // 410.
  void compact();
  // As if the API server's process ended: connections are refused, watches end. Objects stay, and
  // what runs goes on. Twice is once.
  void go_down();
  void come_back();
  // Controllers, scheduler and kubelet stand still.
  void pause_controllers();
  void resume_controllers();
  // What containers of that image reference do when they are started next.
  void set_image(const std::string& image, ImageBehaviour behaviour);

  // From now on no certificate is issued, and this is why; empty: they are again.
  void refuse_certificates(const std::string& why);

  // What was asked. ---------------------------------------------------------------------------

  // All requests since the start or forget_requests(), in the order of their answers (a watch: when
  // it begins). Direct access below isn't among them.
  std::vector<Recorded> requests() const;
  std::vector<Recorded> writes() const;
  // How many there were of a verb and a plural; empty: of any.
  size_t count(const std::string& verb, const std::string& plural = "") const;
  size_t write_count() const;
  void forget_requests();
  // The host names of the certificates that were ordered from the issuer, in their order.
  std::vector<std::string> certificate_orders() const;

  // The objects, as somebody else sees and changes them. Throw Refusal as the API would. ---------

  std::optional<Json> get(const std::string& plural, const std::string& name_space,
                          const std::string& name) const;
  // Empty `name_space`: of all namespaces.
  std::vector<Json> list(const std::string& plural, const std::string& name_space = "",
                         const std::string& label_selector = "") const;
  // Creates the object, or replaces the one of that name, whatever its version.
  Json put(const Json& object, const std::string& manager = "kubectl");
  // Server-side apply, with force.
  Json apply(const Json& object, const std::string& manager = "kubectl");
  // JSON merge patch (RFC 7396) of an object, and of its status.
  Json patch(const std::string& plural, const std::string& name_space, const std::string& name,
             const Json& merge, const std::string& manager = "kubectl");
  Json patch_status(const std::string& plural, const std::string& name_space,
                    const std::string& name, const Json& merge,
                    const std::string& manager = "kubectl");
  // In the background. False where there was nothing.
  bool remove(const std::string& plural, const std::string& name_space, const std::string& name);
  // A ResourceQuota with these amounts in spec.hard (`{"pods": "2", "limits.memory": "1Gi"}`).
  void set_quota(const std::string& name_space, const Json& hard, const std::string& name = "test");
  // The resourceVersion of the latest change.
  std::uint64_t version() const;

  // Host header → Ingress → Service → a ready Pod: a page that says that this cluster is simulated,
  // and which image, port, pod and replicas are behind the name. `host` may have a port.
  Page page(const std::string& host) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::simulated
