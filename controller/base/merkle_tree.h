#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Merkle trees with SHA-256 as in RFC 9162, section 2.1: leaves and inner nodes are hashed with
// different prefixes, so that neither can be taken for the other. A path of a few hashes proves
// that a leaf is in the tree with a known root.
namespace berth::merkle {

// 32 bytes.
using Hash = std::string;

Hash leaf_hash(std::string_view data);
Hash node_hash(const Hash& left, const Hash& right);

// The root over leaves that are added one after the other. Needs memory for one hash for each
// doubling of the number of leaves.
class Tree {
 public:
  void add(const Hash& leaf);
  std::uint64_t size() const { return size_; }
  // Without leaves, the hash of nothing.
  Hash root() const;

 private:
  std::uint64_t size_ = 0;
  // The roots of complete trees that follow each other, the largest first. There is one for each
  // bit that is set in size_.
  std::vector<Hash> complete_;
};

// The root over these leaves.
Hash root_of(std::span<const Hash> leaves);
// The hashes beside the way from this leaf to the root, from below. `index` is less than the number
// of leaves. The hashes may as well be roots over the same power of two of leaves each, of which
// only the last one may have fewer: this is then the upper part of a leaf's path.
std::vector<Hash> path_of(std::span<const Hash> leaves, std::uint64_t index);
// The root to which the path leads from the leaf with this index, in a tree of `size` leaves.
// Returns nothing if there can't be such a path.
std::optional<Hash> root_by_path(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                                 std::span<const Hash> path);

}  // namespace berth::merkle
