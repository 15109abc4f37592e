#pragma once

#include <string_view>

namespace berth {

// Whether a shared secret looks as if it had 128 random bits or more. That can't be seen for sure;
// looked at are its first 64 characters, and refused is what
// - is too short: length times the bits of each character, which are log2 of the size of the
//   classes in it (10 digits, 16 hexadecimal digits, 26 letters of either case), 6 at most. So 32
//   hexadecimal or 22 base64 characters are enough.
// - has fewer than 9 different characters,
// - holds so many words, sequences or repetitions that zxcvbn estimates less than 0.6 of that. Of
//   random secrets it estimates more.
bool is_strong_secret(std::string_view secret);

}  // namespace berth
