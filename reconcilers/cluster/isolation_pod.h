#pragma once

#include <iosfwd>
#include <string>
#include <vector>

// What the containers of the isolation probe run: `berthd probe`. They are tenants' containers, so
// they know nothing but their arguments, and say what they found in their log.
namespace berth::reconcilers {

struct ProbePod {
  int port = 0;            // listened on, TCP and UDP, so that others have something to reach
  int other_port = 0;      // TCP
  std::string nonce = {};  // repeated in the answer; empty: nothing is tried
  std::vector<std::string> targets = {};  // see probe_paths()
};

// The arguments of `berthd` for a container, and the way back. read_probe_arguments() throws
// std::invalid_argument.
std::vector<std::string> probe_arguments(const ProbePod& pod);
ProbePod read_probe_arguments(const std::vector<std::string>& words);

// How long a new container waits before it tries anything: some network plugins hear of a new pod
// later than its containers start.
inline constexpr int probe_settles_seconds = 10;
// How long an attempt waits for an answer. The kernel repeats a lost packet after one second and
// after three.
inline constexpr int probe_silence_seconds = 4;

// Tries all targets at the same time. Returns one line of JSON: {"probe": nonce, "answers":
// {target: answer}}.
std::string try_targets(const ProbePod& pod);

// Listens, tries the targets after `settles` seconds and prints the answers, then goes on listening
// until SIGTERM or SIGINT. Blocks both signals in all threads. Returns the exit code.
int run_probe_pod(const ProbePod& pod, std::ostream& out);

}  // namespace berth::reconcilers
