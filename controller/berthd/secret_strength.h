#pragma once

#include <string_view>

namespace berth {

// Whether a shared secret looks as if it had 128 random bits or more. That can't be seen for sure;
// looked at are its first 64 characters, and refused is what
// - is too short: length times the bits of each character, which are log2 of the size of the
//   classes in it (10 digits, 16 hexadecimal digits, 26 letters of one case, 2 for all signs), and
//   6 where letters of both cases make it look like base64. So 32 hexadecimal or 22 base64
//   characters are enough.
// - has fewer than 9 different characters,
// - holds so many words, sequences or repetitions that zxcvbn estimates less than 0.6 of that. Of
//   nearly all random secrets it estimates more: it refused 1 in 3,000 of the shortest.
bool is_strong_secret(std::string_view secret);

}  // namespace berth
