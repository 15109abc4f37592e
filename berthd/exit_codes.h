#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {

// The exit codes of berthd and its commands. Scripts rely on the numbers, so they never change.
inline constexpr int exit_config = 2;
inline constexpr int exit_data_dir = 3;
inline constexpr int exit_address = 4;
inline constexpr int exit_cluster_access = 5;
inline constexpr int exit_disk_full = 6;
inline constexpr int exit_database = 7;
inline constexpr int exit_moved = 8;

// The reason why berthd can't start, as a sentence for people and as an exit code.
struct StartError : std::runtime_error {
  StartError(int exit_code, const std::string& reason)
      : std::runtime_error(reason), code(exit_code) {}
  int code;
};

// Runs `work()` and returns its result. If it throws std::runtime_error, throws StartError with
// this exit code, and with `what` at the beginning of the message.
template <typename Work>
auto or_end_with(int code, const std::string& what, Work&& work) {
  try {
    return work();
  } catch (const std::runtime_error& failure) {
    throw StartError(code, what + ": " + failure.what());
  }
}

struct ExitCode {
  int code;
  std::string_view meaning;
};
inline constexpr std::array exit_codes = std::to_array<ExitCode>({
    {0,
     "berthd was ended by SIGTERM or SIGINT and everything that it had accepted is on disk; or the "
     "command succeeded"},
    {1,
     "an unexpected error; for `backup`, `restore`, `verify`, `migrate` and `doctor`: something "
     "isn't sound, or the command failed"},
    {exit_config, "the command line or the configuration is wrong; the message names the key"},
    {exit_data_dir,
     "the data directory or its database is in use by another process, damaged, from a newer "
     "version, or from before 0.2.0"},
    {exit_address,
     "berthd can't listen on the address of `listen` or `metrics-listen`: another process does, or "
     "the address isn't one of this machine"},
    {exit_cluster_access,
     "there is no way to the cluster: the kubeconfig or the pod's service account is missing, "
     "can't be read or isn't valid. A cluster that doesn't answer is no reason to end"},
    {exit_disk_full, "the start failed because the disk of the data directory is full"},
    {exit_database,
     "the PostgreSQL database of the key `database` can't be used: no server answers at its "
     "address, or it refuses the user; it is too old, or a standby; the database isn't berth's, "
     "belongs to another instance, or is from a newer version"},
    {exit_moved,
     "the database was moved by `berthd migrate`, or a move to it wasn't completed; the message "
     "says where it is, or that the command has to run again"},
});

}  // namespace berth
