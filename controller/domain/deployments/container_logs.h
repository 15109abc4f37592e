#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The output of containers, as the API asks for it and the reconcilers read it from the cluster.
// Nothing of it is stored in the database.
namespace berth::container_logs {

inline constexpr int default_tail = 1000;
inline constexpr int max_tail = 10'000;
// Longer lines are cut, because a line has to be held in memory as a whole. Container runtimes cut
// at 16 KiB.
inline constexpr std::size_t max_line_bytes = 32 * 1024;

enum class Run {
  current,
  previous,  // the run before the present one, of a container that was restarted after a crash
};
enum class Follow { no, yes };

struct Wanted {
  std::string deployment_id;
  Run run = Run::current;
  Follow follow = Follow::no;
  int tail = default_tail;                 // number of existing lines, at most
  std::optional<std::int64_t> since = {};  // nanoseconds since the epoch
  std::optional<std::string> after = {};   // the id of a line; only lines after it are read
  // The name of one container's pod. Then nothing of the others is read, and a log that is followed
  // ends with it.
  std::optional<std::string> instance = {};
  // The id of a run (runs/runs.h). Then its container is read instead of the deployment's, and the
  // log ends with it; `run`, `since` and `instance` have no meaning.
  std::optional<std::string> run_id = {};
  // The name of a process; nothing of the others is read.
  std::optional<std::string> process = {};
  // Called when there is something to read again after a batch had nothing; with locks held, so
  // that it must not use the reader.
  std::function<void()> on_news = {};
};

struct Line {
  // Says where the line is: the kubelet's time (RFC 3339, with nanoseconds), the pod, and the
  // number of the line among those of the same nanosecond.
  std::string id;
  std::string text;  // UTF-8, without the end of the line
};
struct Batch {
  std::vector<Line> lines;
  bool ended = false;
  // What keeps a followed log from being read, if that has lasted for problem_after. Reading it is
  // retried meanwhile.
  std::optional<std::string> problem = {};
};
// How long a log that is followed may be unreadable before a batch says so.
inline constexpr std::chrono::seconds problem_after{5};
// Returns what has been written, after waiting for it for at most `patience`, which may be 0. May
// be used by one thread at a time. Throws Error, which names who failed, if the log can't be read:
// unavailable if the cluster can't give it, and invalid_state if it is gone. Destroying the
// function stops reading within a second.
using Reader = std::function<Batch(std::chrono::milliseconds patience)>;
// Throws Error: invalid_state if there is no container yet (or no earlier run of it),
// malformed_request if `after` isn't the id of a line, and unavailable if the cluster doesn't
// answer or too many logs are being read.
using Open = std::function<Reader(const Wanted&)>;

}  // namespace berth::container_logs
