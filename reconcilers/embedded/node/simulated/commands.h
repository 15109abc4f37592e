#pragma once

#include <string>
#include <vector>

namespace berth::embedded {

// What a command does that is to end, such as a Job's, in a container that isn't run.
struct SimulatedCommand {
  int seconds = 0;  // for which it runs, by the cluster's clock
  int exit_code = 0;
  std::vector<std::string> output;
};

// The command `exit N` ends with N, `sleep N` runs for N seconds, and `echo WORDS` writes them. All
// others write their own words, and end with 0 at once. `sh -c TEXT`, also with a path, runs the
// commands in TEXT that are separated by semicolons, up to the first `exit`.
SimulatedCommand command_of(const std::vector<std::string>& command,
                            const std::vector<std::string>& args);

}  // namespace berth::embedded
