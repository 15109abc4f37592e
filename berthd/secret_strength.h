#pragma once

#include <string_view>

namespace berth {

// Whether a shared secret looks as if it had 128 random bits or more. That can't be known for sure.
// Only the first 64 characters are examined, and the secret is refused if
// - it is too short: its length times the bits of a character is below 128. The bits are log2 of
//   the number of characters in the classes that occur (10 digits, 16 hexadecimal digits, 26
//   letters of one case, 2 for all signs together), and 6 if letters of both cases make it look
//   like base64. So 32 hexadecimal or 22 base64 characters suffice;
// - it has fewer than 9 different characters;
// - it contains so many words, sequences or repetitions that zxcvbn estimates less than 0.6 of
//   these bits. For nearly all random secrets zxcvbn estimates more: it refused 1 in 3,000 of the
//   shortest.
bool is_strong_secret(std::string_view secret);

}  // namespace berth
