#include "controller/base/merkle_tree.h"

#include <algorithm>
#include <bit>

#include "controller/base/crypto.h"

namespace berth::merkle {
namespace {

// The number of leaves in the left half of a tree: the greatest power of two below `size`.
std::uint64_t left_half(std::uint64_t size) { return std::bit_floor(size - 1); }

}  // namespace

Hash leaf_hash(std::string_view data) { return sha256(std::string(1, '\0').append(data)); }

Hash node_hash(const Hash& left, const Hash& right) {
  return sha256(std::string(1, '\1').append(left).append(right));
}

void Tree::add(const Hash& leaf) {
  complete_.push_back(leaf);
  // As with adding 1 to a binary number, each bit at the end that is set is carried.
  for (std::uint64_t bits = size_; (bits & 1) != 0; bits >>= 1) {
    const Hash right = std::move(complete_.back());
    complete_.pop_back();
    complete_.back() = node_hash(complete_.back(), right);
  }
  ++size_;
}

Hash Tree::root() const {
  if (complete_.empty()) return sha256("");
  Hash root = complete_.back();
  for (size_t i = complete_.size() - 1; i > 0; --i) root = node_hash(complete_[i - 1], root);
  return root;
}

Hash root_of(std::span<const Hash> leaves) {
  Tree tree;
  for (const Hash& leaf : leaves) tree.add(leaf);
  return tree.root();
}

std::vector<Hash> path_of(std::span<const Hash> leaves, std::uint64_t index) {
  std::vector<Hash> from_above;
  while (leaves.size() > 1) {
    const std::uint64_t half = left_half(leaves.size());
    const bool is_left = index < half;
    from_above.push_back(root_of(is_left ? leaves.subspan(half) : leaves.first(half)));
    leaves = is_left ? leaves.first(half) : leaves.subspan(half);
    if (!is_left) index -= half;
  }
  std::ranges::reverse(from_above);
  return from_above;
}

// RFC 9162, section 2.1.3.2.
std::optional<Hash> root_by_path(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                                 std::span<const Hash> path) {
  if (index >= size) return std::nullopt;
  Hash root = leaf;
  std::uint64_t last = size - 1;
  for (const Hash& beside : path) {
    if (last == 0) return std::nullopt;
    if ((index & 1) != 0 || index == last) {
      root = node_hash(beside, root);
      for (; (index & 1) == 0 && index != 0; index >>= 1) last >>= 1;
    } else {
      root = node_hash(root, beside);
    }
    index >>= 1;
    last >>= 1;
  }
  return last == 0 ? std::optional(root) : std::nullopt;
}

}  // namespace berth::merkle
