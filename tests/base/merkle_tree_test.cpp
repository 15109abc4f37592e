#include "controller/base/merkle_tree.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>

#include "controller/base/crypto.h"

namespace {

using namespace berth;
using merkle::Hash;

std::vector<Hash> leaves(size_t count) {
  std::vector<Hash> all;
  for (size_t i = 0; i < count; ++i) all.push_back(merkle::leaf_hash("leaf " + std::to_string(i)));
  return all;
}

// The definition of RFC 9162, section 2.1.1.
Hash defined_root(std::span<const Hash> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves[0];
  const size_t half = std::bit_floor(leaves.size() - 1);
  return merkle::node_hash(defined_root(leaves.first(half)), defined_root(leaves.subspan(half)));
}

TEST_CASE("roots are those of the trees of Certificate Transparency") {
  const std::vector<std::string> data = {"",         std::string(1, '\0'), "\x10",
                                         "\x20\x21", "\x30\x31",           "@ABC",
                                         "PQRSTUVW", "`abcdefghijklmno"};
  std::vector<Hash> all;
  for (const std::string& one : data) all.push_back(merkle::leaf_hash(one));
  CHECK(hex(merkle::root_of({})) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(merkle::root_of(std::span(all).first(1))) ==
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  CHECK(hex(merkle::root_of(std::span(all).first(3))) ==
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77");
  CHECK(hex(merkle::root_of(all)) ==
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
}

TEST_CASE("in trees of all sizes each leaf has a path, and no other leaf or place has it") {
  for (size_t size = 1; size <= 40; ++size) {
    const auto all = leaves(size);
    const Hash root = merkle::root_of(all);
    INFO("a tree of " << size);
    CHECK(root == defined_root(all));
    size_t wrong = 0;
    for (size_t i = 0; i < size; ++i) {
      const auto path = merkle::path_of(all, i);
      if (merkle::root_by_path(all[i], i, size, path) != root) ++wrong;
      if (merkle::root_by_path(merkle::leaf_hash("another"), i, size, path) == root) ++wrong;
      for (size_t other = 0; other < size; ++other)
        if (other != i && merkle::root_by_path(all[i], other, size, path) == root) ++wrong;
      auto longer = path;
      longer.push_back(root);
      if (merkle::root_by_path(all[i], i, size, longer)) ++wrong;
      if (path.empty()) continue;
      if (merkle::root_by_path(all[i], i, size, std::span(path).first(path.size() - 1))) ++wrong;
      auto changed = path;
      changed.back()[0] ^= 1;
      if (merkle::root_by_path(all[i], i, size, changed) == root) ++wrong;
    }
    CHECK(wrong == 0);
  }
  CHECK_FALSE(merkle::root_by_path(leaves(1)[0], 1, 1, {}));
  CHECK_FALSE(merkle::root_by_path(leaves(1)[0], 0, 0, {}));
}

TEST_CASE("the tree over the roots of equal parts is the tree over all leaves") {
  constexpr size_t part_size = 4;
  for (size_t size = 1; size <= 40; ++size) {
    const auto all = leaves(size);
    std::vector<Hash> parts;
    for (size_t at = 0; at < size; at += part_size)
      parts.push_back(merkle::root_of(std::span(all).subspan(at, std::min(part_size, size - at))));
    CHECK(merkle::root_of(parts) == merkle::root_of(all));
    for (size_t i = 0; i < size; ++i) {
      const size_t begin = i / part_size * part_size;
      auto path = merkle::path_of(std::span(all).subspan(begin, std::min(part_size, size - begin)),
                                  i - begin);
      for (const Hash& hash : merkle::path_of(parts, i / part_size)) path.push_back(hash);
      CHECK(path == merkle::path_of(all, i));
    }
  }
}

TEST_CASE("a leaf isn't taken for an inner node") {
  const auto two = leaves(2);
  CHECK(merkle::leaf_hash(two[0] + two[1]) != merkle::root_of(two));
}

}  // namespace
