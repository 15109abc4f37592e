#pragma once

#include <array>
#include <string_view>

namespace berth {

// The exit codes of berthd and its commands. Scripts rely on the numbers, so they never change.
inline constexpr int exit_config = 2;
inline constexpr int exit_data_dir = 3;

struct ExitCode {
  int code;
  std::string_view meaning;
};
inline constexpr std::array exit_codes = std::to_array<ExitCode>({
    {0,
     "berthd was ended by SIGTERM or SIGINT and everything that it had accepted is on disk; or the "
     "command succeeded"},
    {1,
     "an unexpected error; for `backup`, `restore` and `verify`: something isn't sound, or the "
     "command failed"},
    {exit_config, "the command line or the configuration is wrong; the message names the key"},
    {exit_data_dir,
     "the data directory or its database is in use by another process, damaged, or "
     "from a newer version"},
});

}  // namespace berth
