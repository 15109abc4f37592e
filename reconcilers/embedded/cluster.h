#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/disk.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/faults.h"
#include "reconcilers/embedded/node/runtime.h"
#include "reconcilers/embedded/node/session.h"
#include "reconcilers/embedded/node/simulated/images.h"
#include "reconcilers/embedded/timing.h"

// A Kubernetes cluster within the process: it answers as a kube-apiserver 1.37 does over its REST
// API, and changes objects as controllers, scheduler and kubelet do, but without running
// containers. `make run` and the tests use it.
//
// cert-manager's Certificates are issued too, by an issuer of any name.
//
// It does what berth needs, and what it does answer, it answers like a real cluster: status codes,
// Status bodies and their wording, versions, watches, server-side apply with managedFields,
// defaults, quotas, PodSecurity, garbage collection. It lacks authorization (every request with the
// token may do everything), protobuf and tables, the refusal of unknown fields, scopes of quotas,
// CronJobs and similar kinds, and traffic to pods other than page() and open_session().
//
// The name of an image decides what its containers do, so that every case can be tried by hand. The
// last component of the repository may begin with
//   missing          the image can't be pulled (ErrImagePull, ImagePullBackOff)
//   crash            it exits with 1 each time (CrashLoopBackOff)
//   oom              it is killed for its memory (OOMKilled, 137)
//   wrong-port, not-listening   it runs, but readiness and liveness probes find no open port
//   needs-root       it exits with 1 and `Permission denied`, unless it runs as user 0
//   unschedulable    no node has room for its pod (FailedScheduling)
//   talking          it runs, and writes two lines to its log ten times a second
// The containers of all other images run, and listen on the port that their readiness probe uses;
// without privileges, not on one below 1024.
//
// If a pod's restartPolicy is Never and its container has a command, the container of an image that
// runs does what the command says and ends: see node/simulated/commands.h.
//
// Sessions in a container have a shell without programs, see node/simulated/shell.h.
namespace berth::embedded {

class Ingress;
struct ConsoleAddress;

struct Options {
  Timing timing;
  std::uint64_t seed = 0;  // for names and uids; 0: different ones each time
  std::chrono::milliseconds bookmark_interval{60'000};
  // Whether requests() and certificate_orders() remember what was requested. A cluster that runs
  // for long doesn't.
  bool remembers = true;
  // What every request has to send as its bearer token, because other users of this machine reach
  // the port, too; empty: no token is needed.
  std::string token = {};
  // Makes what runs the node's containers; empty: nothing runs.
  RuntimeFactory runtime = {};
  // Where objects are kept, so that a new Cluster goes on where the last one ended or was killed;
  // nothing: they are in memory only.
  std::optional<DiskOptions> disk = {};
};

// What a visitor of a host name is served.
struct Page {
  int status;  // 200; 404 if no Ingress has the host; 503 if no pod behind it is ready
  std::string html;
};

// All functions are thread-safe.
class Cluster {
 public:
  // Listens on a free port of 127.0.0.1, without TLS, and starts the controllers. The cluster has
  // the namespaces default, kube-system, kube-public and kube-node-lease, and one node. Throws
  // std::runtime_error if it can't listen, Unusable if the node's runtime can't work, and
  // std::exception if the file of the objects can't be written.
  explicit Cluster(Options options = {});
  // Closes open watches and connections, which takes a quarter of a second at most.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // What doesn't work on this machine as it should.
  std::vector<Finding> findings() const;
  // Has the ingress controller serve what Ingresses say, and report on Certificates. It has to be
  // stopped before this cluster ends, and to live longer. Throws Unusable.
  void serve_with(Ingress& ingress, const ConsoleAddress& console);

  std::string url() const;  // http://127.0.0.1:PORT
  int port() const;

  // Faults that a test can cause. -----------------------------------------------------------------

  // The next `times` requests that match are answered with `status` and have no effect:
  // `fail_next(2, 503)`, `fail_next(1, 429, 1, {"apply", "deployments"})`. For the verbs see Match.
  void fail_next(int times, int status, std::optional<int> retry_after = std::nullopt,
                 Match match = {});
  void clear_failures();
  // Instead of a container's log, the kubelet answers with these words and 200, as it does if it
  // can't open the log; with an empty text it has the log again.
  void answer_logs_with(const std::string& words);
  // How many requests the ingress controller has in flight; see Faults::set_in_flight().
  void set_in_flight(std::optional<std::map<std::string, double>> requests);
  std::optional<std::map<std::string, double>> in_flight() const;
  // Every request waits this long for its answer.
  void set_latency(std::chrono::milliseconds latency);
  // Connections are accepted but no request is answered until answer_again() is called. Open
  // watches go on.
  void stop_answering();
  void answer_again();
  // Breaks all open watches off without a proper end.
  void drop_watches();
  // Forgets the history of changes, as etcd does from time to time: open watches end with an ERROR
  // event 410, and so do new watches that start from an older resourceVersion; lists that are being
  // read in pages get 410.
  void compact();
  // Acts as if the API server's process had ended: connections are refused and watches end. Objects
  // and running pods stay. Calling it twice has no further effect.
  void go_down();
  void come_back();
  // Stops controllers, scheduler and kubelet until resume_controllers() is called.
  void pause_controllers();
  void resume_controllers();
  // From now on scheduler, kubelet and containers take `factor` times as long for each step, as on
  // a node that is busy with other things; the kubelet probes as often as before.
  void slow_down(int factor);
  // Sets what containers of this image reference do when they are started the next time.
  void set_image(const std::string& image, ImageBehaviour behaviour);

  // From now on no certificate is issued, for the reason `why`. With an empty text, they are issued
  // again.
  void refuse_certificates(const std::string& why);

  // What was requested. ---------------------------------------------------------------------------

  // All requests since the start or the last forget_requests(), in the order of their answers (for
  // a watch, of its beginning). Calls of the functions below aren't included.
  std::vector<Recorded> requests() const;
  std::vector<Recorded> writes() const;
  // The number of requests with this verb and plural; an empty text matches all.
  size_t count(const std::string& verb, const std::string& plural = "") const;
  size_t write_count() const;
  void forget_requests();
  // The host names of the certificates that were ordered from the issuer, in order.
  std::vector<std::string> certificate_orders() const;

  // The objects, as another client sees and changes them; throw Refusal as the API would. ---------

  // Returns nothing if the object doesn't exist.
  std::optional<Json> get(const std::string& plural, const std::string& name_space,
                          const std::string& name) const;
  // An empty `name_space` means all namespaces.
  std::vector<Json> list(const std::string& plural, const std::string& name_space = "",
                         const std::string& label_selector = "") const;
  // Creates the object, or replaces the one of the same name whatever its version is.
  Json put(const Json& object, const std::string& manager = "kubectl");
  // Server-side apply with `force`.
  Json apply(const Json& object, const std::string& manager = "kubectl");
  // Applies a JSON merge patch (RFC 7396) to an object, or to its status.
  Json patch(const std::string& plural, const std::string& name_space, const std::string& name,
             const Json& merge, const std::string& manager = "kubectl");
  Json patch_status(const std::string& plural, const std::string& name_space,
                    const std::string& name, const Json& merge,
                    const std::string& manager = "kubectl");
  // Deletes an object in the background. Returns false if it didn't exist.
  bool remove(const std::string& plural, const std::string& name_space, const std::string& name);
  // Creates or replaces a ResourceQuota with these amounts in spec.hard (`{"pods": "2",
  // "limits.memory": "1Gi"}`).
  void set_quota(const std::string& name_space, const Json& hard, const std::string& name = "test");
  // The resourceVersion of the latest change.
  std::uint64_t version() const;

  // Runs a command in a container, or connects to one of its ports, by the node's runtime: there is
  // no pods/exec and no pods/portforward, which would only lead from this process to itself. Throws
  // Error as Runtime::open() does. The session has to end before the cluster.
  std::unique_ptr<RunSession> open_session(const std::string& name_space, const std::string& pod,
                                           const std::string& container,
                                           const SessionRequest& request);

  // The tokens that the containers of a pod find in their files now, on the simulated node; none on
  // another one.
  std::vector<TokenFile> tokens_of(const std::string& name_space, const std::string& pod) const;

  // Follows a Host header to an Ingress, its Service, and a ready Pod. The page says that the
  // cluster is simulated, and which image, port, pod and replicas are behind the name. `host` may
  // include a port.
  Page page(const std::string& host) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::embedded
