#include "controller/base/source_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <map>

#include "tests/temp_dir.h"

using namespace berth;
using source::Entry;

namespace {

// Writes an archive with one entry that source::Writer wouldn't write.
std::filesystem::path odd_archive(const test::TempDir& dir,
                                  const std::function<void(archive_entry*)>& make) {
  const auto file = dir / "odd.tar";
  archive* handle = archive_write_new();
  archive_write_set_format_pax_restricted(handle);
  archive_write_open_filename(handle, file.c_str());
  archive_entry* entry = archive_entry_new();
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_size(entry, 0);
  make(entry);
  archive_write_header(handle, entry);
  archive_entry_free(entry);
  archive_write_close(handle);
  archive_write_free(handle);
  return file;
}

std::string wrong_with(const std::filesystem::path& file) {
  try {
    source::examine(file);
    return "";
  } catch (const source::BadArchive& bad) {
    return bad.what();
  }
}

}  // namespace

TEST_CASE("paths and links of an archive stay within it") {
  CHECK(source::normalised("a/./b//c/") == "a/b/c");
  for (const char* path : {"", "/", ".", "/a", "../a", "a/../../b", "a/.."})
    CHECK_FALSE(source::normalised(path));
  CHECK_FALSE(source::normalised(std::string_view("a\0b", 3)));
  CHECK_FALSE(source::normalised(std::string(source::max_path_bytes + 1, 'a')));
  CHECK(source::stays_inside("a/b", "../c"));
  CHECK(source::stays_inside("a", "b/../c"));
  for (const auto& [path, target] : std::map<std::string, std::string>{
           {"a", "../b"}, {"a/b", "../../c"}, {"x", "/etc"}, {"y", ""}, {"z", "b/../../c/d"}})
    CHECK_FALSE(source::stays_inside(path, target));
}

TEST_CASE("what was written is read again, compressed or not") {
  rc::check([] {
    const test::TempDir dir;
    const auto contents = *rc::gen::container<std::map<int, std::string>>(
        rc::gen::inRange(0, 200), rc::gen::string<std::string>());
    const auto how = *rc::gen::element(source::Compression::none, source::Compression::gzip);
    const auto file = dir / "source";
    {
      source::Writer writer(file, how);
      writer.add({.type = Entry::Type::directory, .path = "d", .target = {}});
      for (const auto& [number, text] : contents)
        writer.add({.path = "d/" + std::string(std::size_t(number), 'n') + "ü",
                    .is_executable = number % 2 == 1,
                    .target = {}},
                   text);
      writer.add({.type = Entry::Type::link, .path = "l", .target = "d/x"});
      writer.close();
    }
    source::Reader reader(file);
    RC_ASSERT(reader.next()->type == Entry::Type::directory);
    for (const auto& [number, text] : contents) {
      const auto entry = reader.next();
      RC_ASSERT(entry->path == "d/" + std::string(std::size_t(number), 'n') + "ü");
      RC_ASSERT(entry->is_executable == (number % 2 == 1));
      RC_ASSERT(reader.text(1'000'000) == text);
    }
    const auto link = reader.next();
    RC_ASSERT(link->target == "d/x");
    RC_ASSERT(!reader.next());
  });
}

TEST_CASE("an archive with anything but files, directories and links within it is refused") {
  const test::TempDir dir;
  const auto refused = [&](const std::function<void(archive_entry*)>& make) {
    return wrong_with(odd_archive(dir, make));
  };
  CHECK(refused([](archive_entry* e) { archive_entry_set_pathname(e, "../x"); }) ==
        "the source has a file whose path isn't within it");
  CHECK(refused([](archive_entry* e) { archive_entry_set_pathname(e, "/etc/x"); }) ==
        "the source has a file whose path isn't within it");
  CHECK(refused([](archive_entry* e) {
          archive_entry_set_pathname(e, "x");
          archive_entry_set_hardlink(e, "/etc/passwd");
        }).find("hard link") != std::string::npos);
  CHECK(refused([](archive_entry* e) {
          archive_entry_set_pathname(e, "x");
          archive_entry_set_filetype(e, AE_IFLNK);
          archive_entry_set_symlink(e, "../../etc");
        }) == "the symbolic link x leads out of the source");
  CHECK(refused([](archive_entry* e) {
          archive_entry_set_pathname(e, "x");
          archive_entry_set_filetype(e, AE_IFCHR);
        }).find("neither a file") != std::string::npos);
  CHECK(refused([](archive_entry* e) {
          archive_entry_set_pathname(e, "big");
          archive_entry_set_size(e, std::int64_t(source::max_unpacked_bytes) + 1);
        }).find("1024 MiB") != std::string::npos);
  CHECK(refused([](archive_entry* e) { archive_entry_set_pathname(e, "x"); }) ==
        "the source has no Containerfile (or Dockerfile) at its top");
  const auto noise = dir / "noise";
  std::ofstream(noise) << std::string(2000, 'x');
  CHECK(wrong_with(noise).find("isn't a complete tar archive") != std::string::npos);
}

TEST_CASE("the instructions are those of the Containerfile, or else of the Dockerfile") {
  const test::TempDir dir;
  const auto file = dir / "source";
  {
    source::Writer writer(file, source::Compression::gzip);
    for (const char* name : {"Dockerfile", "sub/Containerfile", "Containerfile", "x"})
      writer.add({.path = name, .target = {}}, std::string("FROM ") + name);
    writer.close();
  }
  const auto contents = source::examine(file);
  CHECK(contents.entries == 4);
  CHECK(contents.containerfile == "Containerfile");
  CHECK(contents.containerfile_text == "FROM Containerfile");
  CHECK(source::examine(file, "sub/Containerfile").containerfile_text == "FROM sub/Containerfile");
}

TEST_CASE("an archive that is cut off, or unpacks to too much, is refused") {
  const test::TempDir dir;
  const auto file = dir / "source";
  {
    source::Writer writer(file, source::Compression::gzip);
    writer.add({.path = "Containerfile", .target = {}}, "FROM scratch\n");
    writer.add({.path = "x", .target = {}}, std::string(1'000'000, 'x'));
    writer.close();
  }
  CHECK(wrong_with(file).empty());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  CHECK_FALSE(wrong_with(file).empty());
}
