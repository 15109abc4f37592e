#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "reconcilers/embedded/node/podman/container_request.h"
#include "reconcilers/embedded/node/podman/event_loop.h"
#include "reconcilers/embedded/node/podman/firewall.h"
#include "reconcilers/embedded/node/podman/measure.h"
#include "reconcilers/embedded/node/podman/networks.h"
#include "reconcilers/embedded/node/podman/runtime.h"
#include "reconcilers/embedded/node/podman/service.h"
#include "reconcilers/embedded/node/podman/waker.h"
#include "reconcilers/embedded/node/podman/workers.h"

namespace berth::embedded::podman {

// The pod's uid, the container's name and the number of the run.
using RunKey = std::tuple<std::string, std::string, int>;
RunKey key_of(const Run& run);
// The name that tells several installations on one machine apart: six digits of hexadecimal.
std::string instance_of(const std::filesystem::path& directory);
std::string table_of(const std::string& instance);

// Calls of podman happen on the threads of `calls_` and `pulls_`, which may wait. `loop_` waits for
// the ends of containers, for probes and for moments. `mutex_` protects what the functions of
// Runtime read, and is never held while something waits.
class PodmanRuntime final : public Runtime {
 public:
  PodmanRuntime(const RuntimeOptions& options, Machine machine, Wake wake);
  ~PodmanRuntime() override;

  NodeInfo node() const override;
  std::vector<Finding> findings() const override;
  std::vector<Run> runs() override;
  std::string no_room_for(const Json& pod) const override;
  void pull(const Run& run, const PullRequest& request, Moment now) override;
  Pull pull_state(const Run& run, Moment now, std::optional<Moment>& again) override;
  void start(const Run& run, const StartRequest& request, Moment now) override;
  RunState state(const Run& run, Moment now, std::optional<Moment>& again) override;
  Resize resize(const Run& run, const Json& spec, Moment now) override;
  void probe(const Run& run, ProbeKind kind, const ProbeRequest& request, Moment now) override;
  std::optional<ProbeResult> probe_result(const Run& run, ProbeKind kind, Moment now,
                                          std::optional<Moment>& again) override;
  bool passes_for_ever(const Run&, ProbeKind) const override { return false; }
  bool serves() const override { return true; }
  void stop(const Run& run, std::chrono::milliseconds grace, Moment now) override;
  void remove(const std::string& name_space, const std::string& uid) override;
  void remove(const Run& run) override;
  std::optional<TokenFailure> write_tokens(const std::string& uid,
                                           const std::vector<TokenFile>& files) override;
  void set_policies(const std::string& name_space, std::vector<ObjectPtr> policies) override;
  void remove_namespace(const std::string& name_space) override;
  std::shared_ptr<RunLog> log(const Run& run,
                              std::optional<std::uint64_t> tail_lines) const override;
  std::optional<std::string> address(const Run& run, int port) const override;
  std::optional<Usage> usage(const Run& run) const override;
  Opening open(const Run& run, const SessionRequest& request) override;
  bool measures_disk() const override { return true; }

 private:
  struct ProbeSlot {
    bool under_way = false;
    std::optional<ProbeResult> result;
  };
  struct Container {
    Run run;
    std::string name;  // for podman
    std::string id;
    RunState state;
    PodFacts facts;
    std::string address;
    std::map<int, int> host_ports;  // rootless: where a port is published on 127.0.0.1
    std::filesystem::path log;
    std::filesystem::path upper;  // what it has written to its root file system
    std::shared_ptr<std::atomic<bool>> log_end = std::make_shared<std::atomic<bool>>(false);
    pid_t pid = 0;
    Descriptor process;  // becomes readable at its end
    CgroupPaths cgroups;
    int stop_signal = 15;
    std::optional<Moment> kill_at;
    bool signalled = false;
    bool finishing = false;
    bool removed = false;
    std::map<ProbeKind, ProbeSlot> probes;
    Json resized_to;  // the limits that it was given last since its start, or is being given
    Resize resizing;  // how that is getting on
    std::optional<std::pair<Moment, std::uint64_t>> last_cpu;
    std::optional<Usage> usage;
  };
  using ContainerPtr = std::shared_ptr<Container>;
  struct Pulling {
    Pull state;
    std::string image;
    std::string image_id;  // of a digest, for the status
    std::string id;        // podman's
    UnixCancel cancel;
  };
  using PullingPtr = std::shared_ptr<Pulling>;
  struct Start {
    Json pod;
    Json spec;
    std::map<std::string, std::string> env;
    std::vector<std::string> command;
    std::vector<std::string> args;
    std::string image;
    std::string image_id;
  };
  struct Plan;

  // Calls.

  // podman's service; starts it if it isn't there, and tries again unless the call must not be
  // repeated. Throws UnixHttpError.
  enum class Repeat { yes, no };
  UnixAnswer call(UnixCall call, Repeat repeat = Repeat::yes);
  UnixAnswer request(const std::string& method, const std::string& target,
                     const std::string& body = "");
  void ensure_service();
  void watch_service();
  void on_service_end(int descriptor);
  // On the loop's thread, from time to time: podman's service may wait for itself.
  void look_whether_stuck();

  // The life of a container.

  std::string name_of(const Run& run) const;
  std::shared_ptr<std::mutex> mutex_of(const std::string& uid);
  void start_now(const ContainerPtr& container, const Start& start);
  // Where the volumes of a pod are.
  std::filesystem::path volumes_of(const std::string& uid) const;
  // Returns false if the container couldn't be created; its state says why.
  bool create(const ContainerPtr& container, const Start& start, const Network& network);
  void resize_now(const ContainerPtr& container, const Json& limits);
  UnixAnswer start_once(const std::string& name);
  UnixAnswer start_by_podman(const std::string& name);
  void look_after_start(const ContainerPtr& container);
  void take_running(const ContainerPtr& container, const Json& inspected);
  void watch_process(const ContainerPtr& container);
  void on_end(const ContainerPtr& container);
  void finish(const ContainerPtr& container);
  void take_end(const ContainerPtr& container, const Json& state, bool out_of_memory);
  void refuse(const ContainerPtr& container, const std::string& reason, const std::string& message);
  void signal(const ContainerPtr& container, int number);  // with mutex_
  void schedule_kill(const ContainerPtr& container, Moment at);
  // `id` is the container's, or empty if it isn't known.
  void remove_by_podman(const std::string& name, const std::string& id);
  void remove_by_podman(const ContainerPtr& container);
  void adopt(const Json& listed);
  void remove_leftovers();

  // Sessions (podman_exec.cpp).

  std::unique_ptr<RunSession> open_command(const std::string& name, const SessionRequest& request);
  SessionEnd end_of_command(const std::string& id, bool has_terminal);
  void resize_command(const std::string& id, int columns, int rows);
  void hang_up(const std::string& id);

  // Images.

  void pull_now(const Run& run, const PullingPtr& pulling, const PullRequest& request);
  std::optional<Json> image(const std::string& reference);
  bool take_image(Pulling& pulling, const Json& image);
  enum class Stopped { no, silent, limited };  // why berth gave a pull up by itself
  // Returns podman's words of failure; empty if it was pulled.
  std::string pull_once(Pulling& pulling, const RegistryLogin* login, Stopped& stopped);
  void collect_images();

  // Networks, rules.

  void set_rules();
  void check_rules();
  void watch_rules();  // on the loop's thread
  FirewallPlan firewall_plan() const;

  // Measuring.

  void sample();  // on the loop's thread, from time to time
  void measure_disks();
  void measure_disk(const ContainerPtr& container);

  ContainerPtr find(const Run& run) const;  // with mutex_
  void wake(const Run& run) { waker_.wake(run.name_space, run.pod); }

  const RuntimeOptions options_;
  const std::string instance_;
  Service service_;
  Networks networks_;
  Firewall firewall_;
  std::mutex rules_mutex_;     // taken before `mutex_`
  int inotify_instances_ = 0;  // that a container may have
  UnixCancel cancel_;
  std::atomic<bool> ending_ = false;

  mutable std::mutex mutex_;
  std::map<RunKey, ContainerPtr> containers_;
  std::map<RunKey, PullingPtr> pulls_under_way_;
  std::map<std::string, std::vector<ObjectPtr>> policies_;
  std::map<std::string, std::weak_ptr<std::mutex>> pod_mutexes_;
  std::string trouble_;  // why podman's service can't be reached
  bool rules_pending_ = false;
  std::multiset<Moment> unanswered_;  // when the calls began that have no answer yet
  // For the loop's thread: podman's service, and what it had done when that was looked at first and
  // was still the same the last time.
  Descriptor service_process_;
  pid_t service_pid_ = 0;
  std::uint64_t service_work_ = 0;
  Moment idle_since_;
  Descriptor tables_;  // of nftables; for the loop's thread, too

  std::condition_variable disks_changed_;
  std::thread disks_;

  Waker waker_;
  EventLoop loop_;
  Workers pulls_;
  Workers calls_;
};

}  // namespace berth::embedded::podman
