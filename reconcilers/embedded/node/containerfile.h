#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::embedded {

struct Instruction {
  std::string name;  // in upper case
  std::string text;  // what follows it, on one line
};

// The instructions of a Containerfile or Dockerfile, as far as berth has to know them: what a
// builder does on the machine itself, and not within a step, is the download of base images, of
// ADD's URLs and of what mounts name. So bases come from allowed registries and are named by their
// words alone, and the rest isn't taken. The builder gets the instructions as to_text() writes
// them, one on a line, so that it can't read them in another way than this parser.
struct Containerfile {
  std::vector<Instruction> instructions;

  // Never fails: what isn't an instruction is one with a name that refusal() doesn't know.
  static Containerfile parse(std::string_view text);
  // Says in a sentence what isn't taken; an empty text if everything is. `registries` are the
  // allowed prefixes of the base images' names, without the slash at their ends.
  std::string refusal(std::span<const std::string> registries) const;
  // The base images that have to be pulled, with their registries, each once.
  std::vector<std::string> bases() const;
  // The same instructions, with whole names of the base images. Steps of one `app` never use what
  // was cached for another one's.
  std::string to_text(std::string_view app) const;
};

// Returns the name with its registry: `node` is docker.io/library/node.
std::string with_registry(const std::string& image);

}  // namespace berth::embedded
