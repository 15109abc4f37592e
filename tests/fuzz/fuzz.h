#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

// What the fuzz targets share. A target is one source file that defines run(). `make fuzz` builds
// it with clang's libFuzzer, which makes up inputs; the ordinary tests build it with replay.cpp,
// which runs it over corpus/NAME/.
namespace berth::fuzz {

// Gives one input to the code under test. It must return for every input, in a time that grows no
// faster than the input, because libFuzzer ends it after some seconds. An exception counts as a
// finding.
void run(std::string_view input);

// Ends the program if a condition that must hold for every input doesn't hold.
inline void hold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this doesn't hold: %s\n", what);
  std::abort();
}

// Removes the first line from `input` and returns it without its end: the smaller part of an input
// that has two.
inline std::string_view take_line(std::string_view& input) {
  const std::string_view line = input.substr(0, input.find('\n'));
  input.remove_prefix(line.size() < input.size() ? line.size() + 1 : line.size());
  return line;
}

}  // namespace berth::fuzz
