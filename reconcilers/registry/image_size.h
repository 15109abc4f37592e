#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "reconcilers/registry/image_name.h"

namespace berth::registry {

struct Credentials {
  std::string username;
  std::string password;
};

// The registry couldn't be asked or doesn't give the image's manifest: it is silent, refuses, or
// has no such image. This says nothing about the image's size. what() contains no credentials.
struct Unanswered : std::runtime_error {
  Unanswered(const std::string& what, bool is_busy, bool is_limited = false)
      : std::runtime_error(what), busy(is_busy), limited(is_limited) {}
  bool busy;     // the same question may get an answer later
  bool limited;  // the registry was asked too often (429)
};

// The registry answered, but how large the image is can't be told from that. The answer is made by
// whoever pushed the image, so it must not be taken for a small image. what() is a sentence for the
// image's owner, such as "its manifest has more than 256 KiB".
struct Unmeasurable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Limits of what a registry is asked for and may answer.
// Whoever pushed the image wrote the manifest, and once parsed, JSON takes many times its bytes. An
// image of 127 layers, the most that runtimes mount, has some 50 KiB with annotations.
inline constexpr size_t max_manifest_bytes = size_t(256) << 10;
inline constexpr size_t max_token_answer_bytes = size_t(64) << 10;
// An index may have several images for one architecture, such as variants of arm.
inline constexpr size_t max_images_asked = 8;
inline constexpr size_t max_index_depth = 3;  // an index may have other indexes as its entries
inline constexpr size_t max_layers = 127;     // how many layers an image may have
inline constexpr long max_redirects = 5;
inline constexpr long connect_timeout_ms = 3'000;
inline constexpr long timeout_ms = 5'000;  // for each request

// The sizes of images that were measured before, by where they are and the digest of what their
// reference leads to, which fixes their size. So an image that many deployments have, or that is
// deployed again, costs one HEAD request, which registries don't count as a pull. Thread-safe.
class KnownSizes {
 public:
  static constexpr size_t most = 4096;  // the oldest ones are forgotten first

  std::optional<std::uint64_t> find(const std::string& key) const;
  void add(const std::string& key, std::uint64_t bytes);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> sizes_;
  std::list<std::string> oldest_first_;
};

// Returns how many bytes a node downloads for the image: its configuration and its layers,
// compressed, of which one that occurs twice counts once. Of an image for several platforms it is
// the largest of those for Linux on amd64 and arm64, and of those that name no platform. The
// manifest's sizes are the words of whoever pushed the image, so the registry is asked for the size
// of each blob (HEAD), and the larger figure counts; but an image that has more than `enough` bytes
// by its manifest isn't asked about further. Sends at most 2 * (2 + max_images_asked *
// (max_layers + 3)) requests. Redirects are followed, and the place that gives tokens is the
// registry's choice: it is one that the platform's admin allowed. Throws Unanswered, Unmeasurable,
// or std::bad_alloc. Requesting `stop` makes it throw Unanswered soon. Thread-safe.
std::uint64_t image_size(const ImageName& image, const std::optional<Credentials>& credentials,
                         std::uint64_t enough, KnownSizes& known, const std::stop_token& stop);

// Returns the digest of what the image's tag leads to now, by one HEAD request, which registries
// don't count as a pull, and those for a login. Throws Unanswered, also if the registry doesn't say
// the digest. Thread-safe.
std::string tag_digest(const ImageName& image, const std::optional<Credentials>& credentials,
                       const std::stop_token& stop);

}  // namespace berth::registry
