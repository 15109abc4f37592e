// How a command in a container ended, as a cluster says it; the words go on into a sentence.
#include "reconcilers/kube/exec_status.h"

#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

void run(std::string_view input) {
  const auto status = kube::parse_exec_status(input);
  if (!status) return;
  hold(!status->succeeded || status->exit_code == 0, "success is exit code 0");
  hold(status->message.size() <= input.size() * 3, "words don't grow");
}

}  // namespace berth::fuzz
