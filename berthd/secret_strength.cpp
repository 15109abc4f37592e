#include "berthd/secret_strength.h"

#include <zxcvbn.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>

namespace berth {
namespace {

constexpr double least_bits = 128;
constexpr size_t least_distinct = 9;
constexpr double most_bits_of_character = 6;  // base64
constexpr double random_share = 0.6;
constexpr size_t looked_at = 64;  // zxcvbn's time grows with the square of the length

double bits_of_character(std::string_view text) {
  const auto all = [&](auto is) { return std::ranges::all_of(text, is); };
  const auto any = [&](auto is) { return std::ranges::any_of(text, is); };
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto is_lower = [](unsigned char c) { return std::islower(c) != 0; };
  const auto is_upper = [](unsigned char c) { return std::isupper(c) != 0; };
  const auto is_other = [](unsigned char c) { return std::isalnum(c) == 0; };
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  constexpr double digits = 10, hexadecimal = 16, letters = 26, others = 2;
  if (all(is_digit)) return std::log2(digits);
  if (all(is_hex) && !(any(is_lower) && any(is_upper))) return std::log2(hexadecimal);
  // Some random base64 texts of this length contain no digit.
  if (any(is_lower) && any(is_upper)) return most_bits_of_character;
  const double classes = (any(is_digit) ? digits : 0) + (any(is_lower) ? letters : 0) +
                         (any(is_upper) ? letters : 0) + (any(is_other) ? others : 0);
  return std::log2(classes);
}

}  // namespace

bool is_strong_secret(std::string_view secret) {
  const std::string text(secret.substr(0, looked_at));
  if (text.empty()) return false;
  const double bits = double(text.size()) * bits_of_character(text);
  if (bits < least_bits) return false;
  if (std::set<char>(text.begin(), text.end()).size() < least_distinct) return false;
  return ZxcvbnMatch(text.c_str(), nullptr, nullptr) >= random_share * bits;
}

}  // namespace berth
