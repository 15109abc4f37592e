#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "reconcilers/embedded/node/runtime.h"
#include "reconcilers/embedded/node/simulated/container_output.h"
#include "reconcilers/embedded/node/simulated/images.h"
#include "reconcilers/embedded/node/simulated/shell.h"

namespace berth::embedded {

// The name and the address of the simulated node.
inline constexpr const char* simulated_node = "simulated";
inline constexpr const char* simulated_address = "10.0.0.1";

// A runtime that runs nothing: what its containers do follows from the names of their images (see
// Images), and how long it takes from the timing. It has no thread but those of sessions, and
// remembers little for each container, so that a cluster may have tens of thousands. Its containers
// don't outlive it.
class SimulatedRuntime : public Runtime {
 public:
  SimulatedRuntime(const Images& images, Timing timing) : images_(images), timing_(timing) {}
  // How long things take from now on.
  void set_timing(Timing timing) { timing_ = timing; }

  NodeInfo node() const override;
  std::vector<Finding> findings() const override { return {}; }
  std::vector<Run> runs() override { return {}; }
  std::string no_room_for(const Json& pod) const override;
  void pull(const Run& run, const PullRequest& request, Moment now) override;
  Pull pull_state(const Run& run, Moment now, std::optional<Moment>& again) override;
  void start(const Run& run, const StartRequest& request, Moment now) override;
  RunState state(const Run& run, Moment now, std::optional<Moment>& again) override;
  Resize resize(const Run& run, const Json& spec, Moment now) override;
  void probe(const Run& run, ProbeKind kind, const ProbeRequest& request, Moment now) override;
  std::optional<ProbeResult> probe_result(const Run& run, ProbeKind kind, Moment now,
                                          std::optional<Moment>& again) override;
  bool passes_for_ever(const Run& run, ProbeKind kind) const override;
  bool serves() const override { return false; }
  void stop(const Run& run, std::chrono::milliseconds grace, Moment now) override;
  void remove(const std::string& name_space, const std::string& uid) override;
  void remove(const Run& run) override;
  std::optional<TokenFailure> write_tokens(const std::string& uid,
                                           const std::vector<TokenFile>& files) override {
    pods_[uid].tokens = files;
    return std::nullopt;
  }
  // The tokens that a pod's containers find in their files; none if there is no such pod.
  std::vector<TokenFile> tokens_of(const std::string& uid) const {
    const auto found = pods_.find(uid);
    return found == pods_.end() ? std::vector<TokenFile>() : found->second.tokens;
  }
  void set_policies(const std::string&, std::vector<ObjectPtr>) override {}
  void remove_namespace(const std::string&) override {}
  std::shared_ptr<RunLog> log(const Run& run,
                              std::optional<std::uint64_t> tail_lines) const override;
  std::optional<std::string> address(const Run&, int) const override { return std::nullopt; }
  std::optional<Usage> usage(const Run& run) const override;
  Opening open(const Run& run, const SessionRequest& request) override;
  bool measures_disk() const override { return false; }

 private:
  struct Probe {
    Moment began;
    std::chrono::milliseconds patience{0};
    std::string refused;  // the message if it fails
  };
  struct Place {  // one container
    std::optional<PullRequest> pull;
    Moment pull_began;
    Moment pull_ends;
    int number = -1;  // of the present run
    std::shared_ptr<ContainerOutput> output;
    std::shared_ptr<ContainerOutput> previous;  // of the run before
    Moment up;                                  // when the run listens, or crashes
    Moment passes;                              // when a probe has found out that it listens
    std::optional<Moment> ends;                 // when it will have been stopped
    std::optional<Moment> finishes;             // when its command ends by itself
    int exit_code = 0;                          // of its command
    std::string last_line;                      // that the command writes
    bool ended = false;
    std::string started_at;
    std::string finished_at;
    std::map<ProbeKind, Probe> probes;          // that are under way
    std::string variables;                      // the names of the run's environment, a line each
    std::map<std::string, std::string> mounts;  // where the volumes with tokens are, by their names
    std::vector<std::weak_ptr<Shell>> shells;   // of sessions in the run
  };
  struct Pod {
    std::string address;
    std::map<std::string, Place> places;  // by the container's name
    std::vector<TokenFile> tokens = {};
  };

  Place* find(const Run& run);
  const Place* find(const Run& run) const;
  std::string next_address();
  static void end_shells(Place& place);

  const Images& images_;
  Timing timing_;
  std::set<std::string> pulled_;
  std::map<std::string, Pod> pods_;  // by uid
  std::uint32_t addresses_ = 0;
};

}  // namespace berth::embedded
