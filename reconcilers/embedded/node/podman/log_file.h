#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "reconcilers/embedded/node/output.h"

// The log files that conmon writes (podman-run(1), --log-driver=k8s-file): a line is
// `2026-11-27T00:02:27.141829061+00:00 stdout F text`, with P instead of F if the text goes on in
// the next one. A file that has become too large is replaced by an empty one.
namespace berth::embedded::podman {

// Whether the run has ended and its file is complete.
using LogEnd = std::shared_ptr<const std::atomic<bool>>;

// Reads from the beginning, or from `tail_lines` before the present end.
std::unique_ptr<RunLog> open_log(std::filesystem::path file, LogEnd ended,
                                 std::optional<std::uint64_t> tail_lines);

// The end of what was written, without time stamps: at most 80 lines and 2,048 bytes, as the
// kubelet puts it into a container's status (FallbackToLogsOnError).
std::string last_words(const std::filesystem::path& file);

}  // namespace berth::embedded::podman
