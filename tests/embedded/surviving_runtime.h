#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "reconcilers/embedded/node/runtime.h"

// A runtime whose containers outlive it, as podman's do: they belong to a machine, which several
// clusters use one after the other.
namespace berth::embedded::tests {

class Machine {
 public:
  struct Container {
    Run run;
    std::string image;
    std::map<std::string, std::string> env;
    std::vector<RegistryLogin> logins;
    bool running = true;
    bool held = false;  // asked for, and not up yet
    int exit_code = 0;
    std::string started_at = timestamp();
    std::string finished_at;
  };
  using Place = std::tuple<std::string, std::string, int>;  // uid, container, number

  // What runs, sorted by pod.
  std::vector<Container> running() const {
    const std::lock_guard lock(mutex_);
    std::vector<Container> found;
    for (const auto& [place, container] : containers_)
      if (container.running) found.push_back(container);
    return found;
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return containers_.size();
  }
  // What happened, such as `start web-1/app 0`, in order.
  std::vector<std::string> history() const {
    const std::lock_guard lock(mutex_);
    return history_;
  }
  // Whether two runs of one container ever ran at a time, or one was created twice.
  bool ran_twice() const {
    const std::lock_guard lock(mutex_);
    return twice_;
  }
  // berthd is killed: what its runtime still does has no effect.
  void cut() {
    const std::lock_guard lock(mutex_);
    ++owner_;
    wake_ = {};
  }
  void put(const Run& run, const std::string& image) {
    const std::lock_guard lock(mutex_);
    Container made;
    made.run = run;
    made.image = image;
    containers_[{run.uid, run.container, run.number}] = std::move(made);
  }
  // Ends all running containers of the pod's name, or makes them vanish.
  void end(const std::string& pod, int code) {
    change(pod, [&](Container& container) {
      container.running = false;
      container.exit_code = code;
      container.finished_at = timestamp();
      return true;
    });
  }
  void lose(const std::string& pod) {
    change(pod, [](Container&) { return false; });
  }
  // Whether containers that are started from now on stay in their start until this is false again.
  void hold_starts(bool hold) {
    std::map<std::string, Run> woken;  // by the pod's uid
    Runtime::Wake wake;
    {
      const std::lock_guard lock(mutex_);
      holds_starts_ = hold;
      for (auto& [place, container] : containers_)
        if (!hold && std::exchange(container.held, false)) woken[container.run.uid] = container.run;
      wake = wake_;
    }
    for (const auto& [uid, run] : woken)
      if (wake) wake(run.name_space, run.pod);
  }
  // From now on, every container has written this much.
  void set_disk_bytes(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    disk_bytes_ = bytes;
  }
  void set_probes_pass(bool pass) {
    const std::lock_guard lock(mutex_);
    probes_pass_ = pass;
  }
  // Whether a pod's tokens can be written; if not, because the disk is full.
  void set_writes_tokens(bool writes) {
    const std::lock_guard lock(mutex_);
    writes_tokens_ = writes;
  }
  // Whether something is at the addresses of containers; if not, no probe passes.
  void set_has_network(bool has) {
    const std::lock_guard lock(mutex_);
    has_network_ = has;
  }

 private:
  friend class SurvivingRuntime;

  void change(const std::string& pod, const std::function<bool(Container&)>& keep) {
    Runtime::Wake wake;
    std::string name_space;
    {
      const std::lock_guard lock(mutex_);
      for (auto at = containers_.begin(); at != containers_.end();) {
        const bool kept = at->second.run.pod != pod || !at->second.running || keep(at->second);
        if (at->second.run.pod == pod) name_space = at->second.run.name_space;
        at = kept ? std::next(at) : containers_.erase(at);
      }
      wake = wake_;
    }
    if (wake) wake(name_space, pod);
  }

  mutable std::mutex mutex_;
  bool writes_tokens_ = true;
  int owner_ = 0;
  Runtime::Wake wake_;
  std::map<Place, Container> containers_;
  std::vector<std::string> history_;
  bool twice_ = false;
  bool probes_pass_ = true;
  bool has_network_ = true;
  bool holds_starts_ = false;
  std::uint64_t disk_bytes_ = 0;
};

class SurvivingRuntime : public Runtime {
 public:
  SurvivingRuntime(Machine& machine, Wake wake) : machine_(machine) {
    const std::lock_guard lock(machine_.mutex_);
    owner_ = ++machine_.owner_;
    machine_.wake_ = std::move(wake);
  }
  ~SurvivingRuntime() override {
    const std::lock_guard lock(machine_.mutex_);
    if (machine_.owner_ == owner_) machine_.wake_ = {};
  }

  NodeInfo node() const override {
    NodeInfo info;
    info.name = "machine";
    info.address = "192.0.2.1";
    info.cpu_millicores = 4'000;
    info.memory_bytes = 8ULL << 30;
    info.pods = 100;
    info.counts_requests = true;
    return info;
  }
  std::vector<Finding> findings() const override { return {}; }
  std::vector<Run> runs() override {
    const std::lock_guard lock(machine_.mutex_);
    std::vector<Run> found;
    for (const auto& [place, container] : machine_.containers_) found.push_back(container.run);
    return found;
  }
  std::string no_room_for(const Json&) const override { return ""; }
  void pull(const Run& run, const PullRequest& request, Moment) override {
    logins_[place_of(run)] = request.logins;
  }
  Pull pull_state(const Run&, Moment, std::optional<Moment>&) override {
    Pull pull;
    pull.stage = Pull::Stage::present;
    return pull;
  }
  void start(const Run& run, const StartRequest& request, Moment) override {
    act([&] {
      auto& containers = machine_.containers_;
      if (containers.contains(place_of(run))) return;
      for (const auto& [place, other] : containers)
        machine_.twice_ = machine_.twice_ || (other.running && other.run.uid == run.uid &&
                                              other.run.container == run.container);
      const std::string what = "start " + run.pod + "/" + run.container + " ";
      const std::string words = what + std::to_string(run.number);
      machine_.twice_ = machine_.twice_ || std::ranges::count(machine_.history_, words) > 0;
      machine_.history_.push_back(words);
      Machine::Container made;
      made.run = run;
      made.image = text_at(request.spec, "image");
      made.held = machine_.holds_starts_;
      made.env = request.env;
      made.logins = logins_[place_of(run)];
      containers[place_of(run)] = std::move(made);
    });
  }
  RunState state(const Run& run, Moment, std::optional<Moment>&) override {
    const std::lock_guard lock(machine_.mutex_);
    RunState state;
    const auto found = machine_.containers_.find(place_of(run));
    if (found == machine_.containers_.end()) return state;
    const Machine::Container& container = found->second;
    state.stage = container.running ? RunState::Stage::running : RunState::Stage::ended;
    if (container.held) state.stage = RunState::Stage::starting;
    state.container_id = "test://" + run.uid + run.container + std::to_string(run.number);
    state.image = container.image;
    state.image_id = container.image + "@sha256:0";
    state.address = "192.0.2.2";
    state.started_at = container.started_at;
    state.finished_at = container.finished_at;
    state.exit_code = container.exit_code;
    return state;
  }
  Resize resize(const Run&, const Json&, Moment) override {
    return {.stage = Resize::Stage::done, .message = {}};
  }
  void probe(const Run& run, ProbeKind kind, const ProbeRequest&, Moment) override {
    probes_.insert({place_of(run), kind});
  }
  std::optional<ProbeResult> probe_result(const Run& run, ProbeKind kind, Moment,
                                          std::optional<Moment>&) override {
    if (probes_.erase({place_of(run), kind}) == 0) return std::nullopt;
    const std::lock_guard lock(machine_.mutex_);
    return ProbeResult{.succeeded = machine_.probes_pass_ && machine_.has_network_,
                       .message = "it says no",
                       .no_network = !machine_.has_network_};
  }
  bool passes_for_ever(const Run&, ProbeKind) const override { return false; }
  bool serves() const override { return true; }
  void stop(const Run& run, std::chrono::milliseconds, Moment) override {
    act([&] {
      const auto found = machine_.containers_.find(place_of(run));
      if (found == machine_.containers_.end() || !found->second.running) return;
      machine_.history_.push_back("stop " + run.pod + "/" + run.container + " " +
                                  std::to_string(run.number));
      found->second.running = false;
      found->second.finished_at = timestamp();
    });
  }
  void remove(const std::string&, const std::string& uid) override {
    act([&] {
      if (std::erase_if(machine_.containers_,
                        [&](const auto& one) { return one.second.run.uid == uid; }) > 0)
        machine_.history_.push_back("remove " + uid);
    });
  }
  void remove(const Run& run) override {
    act([&] { machine_.containers_.erase(place_of(run)); });
  }
  std::optional<TokenFailure> write_tokens(const std::string&,
                                           const std::vector<TokenFile>& files) override {
    const std::lock_guard lock(machine_.mutex_);
    if (machine_.writes_tokens_) return std::nullopt;
    return TokenFailure{.volume = files.at(0).volume, .why = "write token: no room"};
  }
  void set_policies(const std::string&, std::vector<ObjectPtr>) override {}
  void remove_namespace(const std::string& name_space) override {
    act([&] { machine_.history_.push_back("remove namespace " + name_space); });
  }
  std::shared_ptr<RunLog> log(const Run&, std::optional<std::uint64_t>) const override {
    return nullptr;
  }
  std::optional<std::string> address(const Run&, int port) const override {
    return "127.0.0.1:" + std::to_string(port);
  }
  std::optional<Usage> usage(const Run&) const override {
    const std::lock_guard lock(machine_.mutex_);
    Usage usage;
    usage.at = timestamp();
    usage.disk_bytes = machine_.disk_bytes_;
    return usage;
  }
  Opening open(const Run&, const SessionRequest&) override {
    throw Error(Code::invalid_state, "these containers have no sessions");
  }
  bool measures_disk() const override { return true; }

 private:
  static Machine::Place place_of(const Run& run) { return {run.uid, run.container, run.number}; }
  void act(const std::function<void()>& what) {
    const std::lock_guard lock(machine_.mutex_);
    if (machine_.owner_ == owner_) what();
  }

  Machine& machine_;
  int owner_;
  std::map<Machine::Place, std::vector<RegistryLogin>> logins_;
  std::set<std::pair<Machine::Place, ProbeKind>> probes_;
};

}  // namespace berth::embedded::tests
