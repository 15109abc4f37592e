#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/deployments/exec.h"
#include "reconcilers/cluster/cache.h"

// What sessions in containers have in common, whatever runs the containers.
namespace berth::reconcilers {

// A container that runs.
struct RunningContainer {
  std::string name_space;
  std::string pod;
  std::string container;
  std::string node;  // for messages; may be empty
};

// The container in which a session is to be opened: of the pod that is wanted by name, or else of
// one of the process that is wanted, if possible one that is ready, and then the newest. Answers
// from memory. Throws Error: invalid_state if there is none that runs, and unavailable if the
// cluster hasn't been read yet.
RunningContainer running_container(const Cache& cache, const exec::Wanted& wanted);

// The end of a command that the container runtime couldn't start, from the runtime's own words (of
// runc or crun, which containerd, CRI-O and podman pass on): 127 if the image has no such program
// and 126 if it can't be executed, as a shell ends.
exec::End end_of_refused(std::string_view words, const std::vector<std::string>& argv);
// The end of a connection to a port that couldn't be made, from the words of the kubelet.
exec::End end_of_refused_port(std::string_view words, int port);

inline constexpr std::string_view container_is_gone = "the container doesn't run any more";
inline constexpr std::string_view session_was_cancelled = "the session was ended";

}  // namespace berth::reconcilers
