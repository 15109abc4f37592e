#include "controller/domain/ledger/tree_parts.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::ledger {
namespace {

constexpr size_t id_digits = 32;
constexpr size_t root_digits = 64;

std::string bytes_of_hex(const std::string& digits) {
  const auto bytes = parse_hex(digits);
  if (!bytes) throw std::invalid_argument("the parts of a day's tree aren't in hex");
  return *bytes;
}

std::string id_of_digits(std::string digits) {
  bytes_of_hex(digits);
  for (const size_t hyphen : {8, 13, 18, 23}) digits.insert(hyphen, "-");
  return digits;
}

}  // namespace

std::string text_of_parts(const std::vector<TreePart>& parts) {
  std::string text;
  text.reserve(parts.size() * (id_digits + root_digits));
  for (const TreePart& part : parts) {
    std::ranges::copy_if(part.first_id, std::back_inserter(text), [](char c) { return c != '-'; });
    text += hex(part.root);
  }
  return text;
}

std::vector<TreePart> parts_of_text(const std::string& text) {
  constexpr size_t digits = id_digits + root_digits;
  if (text.size() % digits != 0)
    throw std::invalid_argument("the parts of a day's tree have the wrong length");
  std::vector<TreePart> parts;
  parts.reserve(text.size() / digits);
  for (size_t at = 0; at < text.size(); at += digits)
    parts.push_back({.first_id = id_of_digits(text.substr(at, id_digits)),
                     .root = bytes_of_hex(text.substr(at + id_digits, root_digits))});
  return parts;
}

}  // namespace berth::ledger
