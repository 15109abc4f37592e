#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Packs the source of an image.
namespace berth::cli {

// Returns the folder's Containerfile or Dockerfile, or the file that is named; nothing if there is
// none. Throws Failure `usage` if the folder or the named file doesn't exist.
std::optional<std::filesystem::path> containerfile_of(const std::filesystem::path& folder,
                                                      const std::string& named);

struct PackedSource {
  std::string archive;  // a tar, compressed by gzip
  size_t files = 0;
  // What was left out although nothing asked for it, as sentences.
  std::vector<std::string> warnings;
  // The largest files with their sizes, for a source that is too large.
  std::vector<std::pair<std::uint64_t, std::string>> largest;
};

// Packs the folder without .git and without what its .containerignore, or else its .dockerignore,
// names. Symbolic links are packed as links, and left out if they lead out of the folder; sockets
// and devices are left out. `containerfile` becomes the archive's Containerfile if it isn't one at
// the folder's top. Throws Failure `failed` if something can't be read, and Failure `usage` if
// there are too many files.
PackedSource pack(const std::filesystem::path& folder, const std::filesystem::path& containerfile);

}  // namespace berth::cli
