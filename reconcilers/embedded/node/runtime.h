#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/finding.h"
#include "reconcilers/embedded/node/output.h"
#include "reconcilers/embedded/node/session.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// One run of one container of a pod. The kubelet numbers the runs of a container from 0, so a run's
// number is what `restartCount` is while it runs.
struct Run {
  std::string name_space;
  std::string pod;
  std::string uid;  // the pod's
  std::string container;
  int number = 0;
};

// The machine, as the Node object describes it.
struct NodeInfo {
  std::string name;     // also the host name of the kubelet's events
  std::string address;  // InternalIP
  std::int64_t cpu_millicores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;  // where images and containers are stored; 0: unknown
  std::int64_t pods = 0;         // the most pods that the node takes
  // Whether pods have to fit by what they request. Otherwise only no_room_for() keeps them out.
  bool counts_requests = false;
  std::string kubelet_version;
  std::string kernel_version;
  std::string runtime_version;  // such as `podman://4.3.1`
};

// A login at a registry, from the pod's pull secrets.
struct RegistryLogin {
  std::string username;
  std::string password;
};

enum class PullPolicy { if_not_present, always, never };

struct PullRequest {
  std::string image;
  PullPolicy policy = PullPolicy::if_not_present;
  std::vector<RegistryLogin> logins;  // for the image's registry, in the order of the pull secrets
};

struct Pull {
  enum class Stage {
    looking,  // whether the node has the image
    under_way,
    present,
    pulled,
    failed
  };
  Stage stage = Stage::looking;
  std::string reason;   // of a failure: ErrImagePull, InvalidImageName, ErrImageNeverPull, …
  std::string message;  // of a failure, in the words of a kubelet with containerd
  std::chrono::milliseconds took{0};
  std::uint64_t bytes = 0;
};

struct StartRequest {
  const Json& pod;
  const Json& spec;  // the container's
  // Complete, with what Secrets, ConfigMaps and fields of the pod give; `$(NAME)` is resolved in
  // all three.
  std::map<std::string, std::string> env;
  std::vector<std::string> command;  // empty: the image's entrypoint, and its cmd if `args` is too
  std::vector<std::string> args;
};

// A token for a file of a pod's volume, which replaces the file.
struct TokenFile {
  std::string volume;
  std::string path;  // below the volume
  std::string token;
};

// Why a token couldn't be written.
struct TokenFailure {
  std::string volume;
  std::string why;  // such as "write token: No space left on device"
};

// How a change of a running container's limits is getting on.
struct Resize {
  enum class Stage { under_way, done, failed };
  Stage stage = Stage::under_way;
  std::string message = {};  // of a failure
};

struct RunState {
  enum class Stage {
    unknown,   // the runtime knows no such run
    starting,  // start() was called and isn't done
    refused,   // the run couldn't be created or started
    running,
    ended
  };
  Stage stage = Stage::unknown;
  // Of a refused run: CreateContainerConfigError or CreateContainerError if there is no container,
  // RunContainerError if there is one that couldn't be started. Of one that has ended: Completed,
  // Error or OOMKilled.
  std::string reason;
  std::string message;       // refused: the runtime's words; ended: the end of the output
  std::string container_id;  // with its scheme, such as `containerd://…`
  std::string image;         // as the runtime names it, such as `docker.io/library/nginx:1`
  std::string image_id;      // such as `docker.io/library/nginx@sha256:…`
  std::string address;       // the container's IP address; empty if it has none of its own
  std::string started_at;    // RFC 3339, by the machine's clock
  std::string finished_at;
  int exit_code = 0;
};

enum class ProbeKind { startup, readiness, liveness };

struct ProbeRequest {
  const Json& probe;  // the spec's part, with httpGet, tcpSocket or another action
  int port = 0;       // the container's port, if the action has one
  std::chrono::milliseconds timeout{0};
  // As long as the container has never passed, a refused connection is tried again for this long
  // before the probe fails: a container is ready as soon as it listens, and not a period later.
  std::chrono::milliseconds patience{0};
};

struct ProbeResult {
  bool succeeded = false;
  std::string message;  // of a failure, in the kubelet's words, without `Readiness probe failed: `
  // Whether nothing is at the container's address. The container can't cause that: its network is
  // broken, for example because podman was killed while it set the network up.
  bool no_network = false;
};

struct Usage {
  std::string at;  // RFC 3339: when it was measured
  std::uint64_t cpu_nanocores = 0;
  std::uint64_t memory_bytes = 0;  // the working set
  // What the container has written: its root file system and its log; nothing if it isn't measured.
  std::optional<std::uint64_t> disk_bytes;
  std::map<std::string, std::uint64_t> volume_bytes;  // of the pod's emptyDir volumes, by name
};

// What runs the containers of the embedded cluster's only node: nothing (node/simulated), or podman
// (node/podman). The kubelet decides what is to happen, in which order and with which delays; the
// runtime does it, and says how it stands.
//
// The caller holds the store's mutex for every function except where it says otherwise, so none of
// them may wait: what takes long happens on threads of the runtime, which call `Wake` when the
// kubelet should look at a pod again. Where a function sets `again`, the state will change by
// itself at that moment, and nobody calls `Wake`.
//
// Containers outlive the runtime object and the process where they are real: runs() and state()
// know those that were started before.
class Runtime {
 public:
  // Tells the kubelet to look at a pod. It takes the store's mutex: the caller must hold neither it
  // nor a lock that a function of the runtime takes. It may be called until the runtime's
  // destructor returns.
  using Wake = std::function<void(const std::string& name_space, const std::string& pod)>;

  virtual ~Runtime() = default;

  virtual NodeInfo node() const = 0;
  // What doesn't work as it should on this machine. Needs no mutex.
  virtual std::vector<Finding> findings() const = 0;
  // All runs that have a container, whoever started them. Called once, before all others; the only
  // function that may take a moment.
  virtual std::vector<Run> runs() = 0;
  // Why the scheduler can't place the pod here, such as `Insufficient memory`; empty if it can.
  virtual std::string no_room_for(const Json& pod) const = 0;

  // Begins to make the image available. Calling it again for a run whose pull is under way has no
  // effect; after a failure it begins again.
  virtual void pull(const Run& run, const PullRequest& request, Moment now) = 0;
  virtual Pull pull_state(const Run& run, Moment now, std::optional<Moment>& again) = 0;

  // Begins to create and start the container of a run. Has no effect if the run exists already,
  // also if it was created before berthd was restarted; tries again if it was refused.
  virtual void start(const Run& run, const StartRequest& request, Moment now) = 0;
  virtual RunState state(const Run& run, Moment now, std::optional<Moment>& again) = 0;

  // Begins to give a running container the limits and requests of memory and CPU that its spec has
  // now; nothing if that was begun before, whose state it returns. It fails if the container uses
  // more memory than that.
  virtual Resize resize(const Run& run, const Json& spec, Moment now) = 0;

  // Begins one probe of a running container; nothing if one of this kind is under way.
  virtual void probe(const Run& run, ProbeKind kind, const ProbeRequest& request, Moment now) = 0;
  // Returns the result of the probe that was begun last, once; nothing while it is under way.
  virtual std::optional<ProbeResult> probe_result(const Run& run, ProbeKind kind, Moment now,
                                                  std::optional<Moment>& again) = 0;
  // Whether a container that passed this probe can never fail it, so that the kubelet need not go
  // on.
  virtual bool passes_for_ever(const Run& run, ProbeKind kind) const = 0;

  // Whether requests reach the containers, so that a preStop sleep has a purpose.
  virtual bool serves() const = 0;
  // Sends the container SIGTERM, and SIGKILL after `grace`. Calling it again can only shorten the
  // grace. state() tells when the run has ended.
  virtual void stop(const Run& run, std::chrono::milliseconds grace, Moment now) = 0;
  // Removes all that is left of a pod that has ended: its containers, even if they run, their logs
  // and volumes.
  virtual void remove(const std::string& name_space, const std::string& uid) = 0;
  // Removes the container and the log of one run, because the node keeps the last two.
  virtual void remove(const Run& run) = 0;

  // Writes the tokens of a pod, before its containers are started and again before the tokens
  // expire. It takes a moment at most. Returns the first failure; nothing if there was none.
  virtual std::optional<TokenFailure> write_tokens(const std::string& uid,
                                                   const std::vector<TokenFile>& files) = 0;

  // The NetworkPolicies of a namespace, as they are now: before the first start() in it, and again
  // after each change. An empty list: it has none, or it was deleted.
  virtual void set_policies(const std::string& name_space, std::vector<ObjectPtr> policies) = 0;
  // The namespace was deleted, and no pod of it is left: removes its network.
  virtual void remove_namespace(const std::string& name_space) = 0;

  // Returns null if the node has no log of this run (any more). With `tail_lines`, reading begins
  // that many lines before the end.
  virtual std::shared_ptr<RunLog> log(const Run& run,
                                      std::optional<std::uint64_t> tail_lines) const = 0;
  // Where a port of a running container is reached from this machine, such as `127.0.0.1:34567`.
  virtual std::optional<std::string> address(const Run& run, int port) const = 0;
  virtual std::optional<Usage> usage(const Run& run) const = 0;
  // Opens a session in a running container. What is returned does it: it is called without the
  // mutex, waits for the request's patience at most, and throws Error: invalid_state if the
  // container doesn't run or can't be reached like that, unavailable if the node doesn't answer.
  // The session must not outlive the runtime.
  using Opening = std::function<std::unique_ptr<RunSession>()>;
  virtual Opening open(const Run& run, const SessionRequest& request) = 0;
  // Whether usage() has `disk_bytes`, so that the kubelet should look at it from time to time.
  virtual bool measures_disk() const = 0;
};

// Makes the node's runtime. Throws Unusable.
using RuntimeFactory = std::function<std::unique_ptr<Runtime>(Runtime::Wake)>;

}  // namespace berth::embedded
