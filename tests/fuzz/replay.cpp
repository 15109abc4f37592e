// Runs a fuzz target on the files of a directory, or on single files, without libFuzzer.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

// The bytes are in a block of exactly their size, so that a sanitizer notices a read beyond it.
void replay(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
  // Printed before the run, so that the last name is the one that failed.
  std::cout << file.string() << std::endl;
  berth::fuzz::run({bytes.data(), bytes.size()});
}

}  // namespace

int main(int argc, char** argv) {
  std::set<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_directory(argv[i]))
      for (const auto& entry : fs::directory_iterator(argv[i])) files.insert(entry.path());
    else
      files.insert(argv[i]);
  }
  if (files.empty()) {
    std::cerr << "usage: " << argv[0] << " FILE_OR_DIRECTORY..., and none of them held a file\n";
    return 2;
  }
  for (const fs::path& file : files) replay(file);
  std::cout << files.size() << " inputs\n";
}
