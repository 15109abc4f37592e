// Containerfiles of strangers: what a builder is given is what berth has read, whatever was sent.
#include "reconcilers/embedded/node/containerfile.h"

#include <algorithm>
#include <array>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

void run(std::string_view input) {
  const std::array<std::string, 2> registries = {"docker.io", "registry.example/base"};
  const auto file = embedded::Containerfile::parse(input);
  if (!file.refusal(registries).empty()) return;
  for (const std::string& base : file.bases())
    hold(std::ranges::any_of(
             registries,
             [&](const std::string& registry) { return base.starts_with(registry + "/"); }),
         "a base image comes from an allowed registry");
  const std::string text = file.to_text("app");
  for (std::string_view rest = text; !rest.empty();)
    hold(!take_line(rest).ends_with('\\'), "no line goes on in the next one");
  const auto again = embedded::Containerfile::parse(text);
  hold(again.refusal(registries).empty(), "what is written is taken again");
  hold(again.bases() == file.bases(), "the base images stay the same");
  // The instructions are the same, but for the ARG that follows each FROM.
  auto written = again.instructions.begin();
  for (const embedded::Instruction& step : file.instructions) {
    hold(written != again.instructions.end() && written->name == step.name,
         "each instruction is written in its place");
    if (step.name == "FROM")
      ++written;
    else
      hold(written->text == step.text, "the words of an instruction stay the same");
    ++written;
  }
  hold(written == again.instructions.end(), "nothing else is written");
}

}  // namespace berth::fuzz
