#include "reconcilers/embedded/node/simulated/images.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "controller/base/crypto.h"

namespace berth::embedded {
namespace {

struct Prefix {
  std::string_view name;
  ImageBehaviour behaviour;
};

constexpr std::array prefixes{Prefix{"missing", ImageBehaviour::missing},
                              Prefix{"crash", ImageBehaviour::crashes},
                              Prefix{"oom", ImageBehaviour::out_of_memory},
                              Prefix{"wrong-port", ImageBehaviour::not_listening},
                              Prefix{"not-listening", ImageBehaviour::not_listening},
                              Prefix{"needs-root", ImageBehaviour::needs_root},
                              Prefix{"unschedulable", ImageBehaviour::unschedulable},
                              Prefix{"talking", ImageBehaviour::talks}};

// The position where the tag or the digest begins; the size of the text if there is neither.
size_t end_of_repository(const std::string& image) {
  const size_t at = std::min(image.find('@'), image.size());
  const size_t slash = image.substr(0, at).rfind('/');
  const size_t colon = image.find(':', slash == std::string::npos ? 0 : slash);
  return std::min(colon, at);
}

}  // namespace

ImageBehaviour Images::of(const std::string& image) const {
  if (const auto found = set_.find(image); found != set_.end()) return found->second;
  const std::string repository = image.substr(0, end_of_repository(image));
  const size_t slash = repository.rfind('/');
  const std::string name = slash == std::string::npos ? repository : repository.substr(slash + 1);
  for (const Prefix& prefix : prefixes)
    if (name.starts_with(prefix.name)) return prefix.behaviour;
  return ImageBehaviour::runs;
}

std::string full_reference(const std::string& image) {
  const size_t slash = image.find('/');
  const std::string first = slash == std::string::npos ? "" : image.substr(0, slash);
  std::string full = image;
  if (slash == std::string::npos)
    full = "docker.io/library/" + image;
  else if (first.find_first_of(".:") == std::string::npos && first != "localhost")
    full = "docker.io/" + image;
  return end_of_repository(full) == full.size() ? full + ":latest" : full;
}

std::string image_id(const std::string& image) {
  const std::string full = full_reference(image);
  // If there is a digest, a tag beside it has no meaning.
  if (const size_t at = full.find('@'); at != std::string::npos)
    return full.substr(0, end_of_repository(full)) + full.substr(at);
  return full.substr(0, end_of_repository(full)) + "@sha256:" + hex(sha256(full));
}

}  // namespace berth::embedded
