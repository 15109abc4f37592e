#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/simulated/container_output.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// One run of one container of a pod. The kubelet numbers the runs of a container from 0, so a run's
// number is what `restartCount` was when the run began.
struct Run {
  std::string name_space;
  std::string pod;
  std::string uid;  // the pod's
  std::string container;
  int number = 0;
};

// A login at a registry, from the pod's pull secrets.
struct RegistryLogin {
  std::string username;
  std::string password;
};

struct PullRequest {
  std::string image;
  bool always = false;  // imagePullPolicy: Always; otherwise an image that the node has is enough
  std::vector<RegistryLogin> logins;  // for the image's registry, in the order of the pull secrets
};

struct Pull {
  enum class Stage { under_way, present, pulled, failed };
  Stage stage = Stage::under_way;
  std::string reason;   // of a failure: ErrImagePull, InvalidImageName, ErrImageNeverPull, …
  std::string message;  // of a failure, in the words of a kubelet with containerd
  std::chrono::milliseconds took{0};
  std::uint64_t bytes = 0;
};

struct StartRequest {
  const Json& pod;
  const Json& spec;                        // the container's
  std::map<std::string, std::string> env;  // complete: with what secrets and references give
};

struct RunState {
  enum class Stage {
    unknown,   // the runtime knows no such run
    starting,  // create() was called and isn't done
    refused,   // the run couldn't be created or started
    running,
    ended
  };
  Stage stage = Stage::unknown;
  std::string reason;   // refused: CreateContainerError, RunContainerError, …; ended: Error, …
  std::string message;  // refused: the runtime's words; ended: the end of the output
  std::string container_id;  // with its scheme, such as `containerd://…`
  std::string image_id;      // such as `docker.io/library/nginx@sha256:…`
  std::string started_at;    // RFC 3339, by the runtime's clock
  std::string finished_at;
  int exit_code = 0;
};

enum class ProbeKind { startup, readiness, liveness };

struct ProbeResult {
  bool succeeded = false;
  std::string message;  // of a failure, in the kubelet's words
};

// The output of one run, read from its beginning on. It may be used without the store's mutex, by
// one thread at a time, and stays valid after the run was removed.
class RunLog {
 public:
  virtual ~RunLog() = default;
  // Returns up to `most` lines that follow those that were returned before; none if there are none
  // yet.
  virtual std::vector<OutputLine> read(std::size_t most) = 0;
  // Whether the run has ended and read() has returned everything.
  virtual bool over() = 0;
};

struct Usage {
  std::string at;  // RFC 3339: when it was measured
  std::uint64_t cpu_nanocores = 0;
  std::uint64_t memory_bytes = 0;
};

// What runs the containers of the embedded cluster's only node: nothing (node/simulated), or podman
// (node/podman). The kubelet decides what is to happen, in which order and with which delays; the
// runtime does it, and says how it stands.
//
// The caller holds the store's mutex for every function, so none of them may wait: what takes long
// happens on threads of the runtime, which call `wake` (see the constructors) when the kubelet
// should look at a pod again. Where a function returns `again`, the state will change by itself at
// that moment, and nobody calls `wake`.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Begins to make the image available. Calling it again for a run whose pull is under way has no
  // effect.
  virtual void pull(const Run& run, const PullRequest& request, Moment now) = 0;
  virtual Pull pull_state(const Run& run, Moment now, std::optional<Moment>& again) = 0;

  // Begins to create and start the container of a run. Has no effect if the run exists already,
  // also if it was created before berthd was restarted.
  virtual void start(const Run& run, const StartRequest& request, Moment now) = 0;
  virtual RunState state(const Run& run, Moment now, std::optional<Moment>& again) = 0;

  // Begins one probe of a running container. `probe` is the probe's part of the spec.
  virtual void probe(const Run& run, ProbeKind kind, const Json& probe, Moment now) = 0;
  // Returns the result of the probe that was begun last, once; nothing while it is under way.
  virtual std::optional<ProbeResult> probe_result(const Run& run, ProbeKind kind, Moment now,
                                                  std::optional<Moment>& again) = 0;
  // Whether a container that passed this probe can never fail it, so that the kubelet need not go
  // on.
  virtual bool passes_for_ever(const Run& run, ProbeKind kind) const = 0;

  // Sends the container SIGTERM, and SIGKILL after `grace`. state() tells when it has ended.
  virtual void stop(const Run& run, std::chrono::milliseconds grace, Moment now) = 0;
  // Removes all that is left of a pod that has ended: its containers and their logs.
  virtual void remove(const std::string& name_space, const std::string& uid) = 0;
  // Removes the container and the log of one run, because the node keeps the last two.
  virtual void remove(const Run& run) = 0;

  // Returns null if the node has no log of this run (any more). With `tail_lines`, reading begins
  // that many lines before the end.
  virtual std::shared_ptr<RunLog> log(const Run& run,
                                      std::optional<std::uint64_t> tail_lines) const = 0;
  // Where a port of a ready container is reached from this machine, such as `127.0.0.1:34567`.
  virtual std::optional<std::string> address(const Run& run, int port) const = 0;
  virtual std::optional<Usage> usage(const Run& run) const = 0;
};

}  // namespace berth::embedded
