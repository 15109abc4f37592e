#include "reconcilers/embedded/node/file_text.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/temp_dir.h"

namespace {

using berth::embedded::file_text;
using berth::embedded::trimmed_file_text;

TEST_CASE("a file is read, and one that fails while it is read is no error") {
  const berth::test::TempDir folder;
  const auto file = folder.path() / "file";
  std::ofstream(file) << " one\n";
  CHECK(file_text(file) == " one\n");
  CHECK(trimmed_file_text(file) == " one");
  CHECK(file_text(folder.path() / "none").empty());
  // It can be opened, and reading it fails, like a file of a process that has just ended.
  CHECK(file_text(folder.path()).empty());
}

}  // namespace
