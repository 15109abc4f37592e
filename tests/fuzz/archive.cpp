// Backup archives: their contents inside the encryption, and the encryption itself.
#include "berthd/backup/archive.h"

#include <filesystem>

#include "controller/base/sealed_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/temp_dir.h"

namespace berth::fuzz {
namespace {

using sealed_file::Damaged;

// Writes the input in pieces, as a connection would deliver it.
template <typename Writer>
void write_in_pieces(Writer& writer, std::string_view bytes, std::size_t piece) {
  for (std::size_t at = 0; at < bytes.size(); at += piece) writer.write(bytes.substr(at, piece));
}

void unpack(std::string_view bytes, std::size_t piece) {
  const test::TempDir directory;
  try {
    backup::Unpacker unpacker(directory.path());
    write_in_pieces(unpacker, bytes, piece);
    const backup::Manifest manifest = unpacker.finish();
    for (const backup::File& file : manifest.files)
      hold(std::filesystem::file_size(directory / file.name) == file.size,
           "what was unpacked is as long as the manifest says");
  } catch (const Damaged&) {
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
    hold(entry.path().filename() == "keys.json" || entry.path().filename() == "berth.db",
         "nothing is written but the two files");
}

std::string sealed(std::string_view plain, const std::string& key) {
  std::string result;
  sealed_file::Sealer sealer(key, [&](std::string_view bytes) { result += bytes; });
  sealer.write(plain);
  sealer.finish();
  return result;
}

std::string opened(std::string_view text, const std::string& key, std::size_t piece) {
  std::string result;
  sealed_file::Opener opener(key, [&](std::string_view bytes) { result += bytes; });
  write_in_pieces(opener, text, piece);
  opener.finish();
  return result;
}

bool opens(std::string_view text, const std::string& key, std::size_t piece) {
  try {
    opened(text, key, piece);
    return true;
  } catch (const Damaged&) {
    return false;
  }
}

void seal_and_open(std::string_view plain, std::size_t piece) {
  const std::string key(sealed_file::key_bytes, 'k');
  std::string text = sealed(plain, key);
  hold(text.size() == sealed_file::sealed_size(plain.size()),
       "a sealed file's size is known before");
  hold(opened(text, key, piece) == plain, "what was sealed opens");
  text[(plain.size() * piece) % text.size()] ^= 1;
  hold(!opens(text, key, piece), "what was changed doesn't open");
  hold(!opens(plain, key, piece), "what nobody sealed doesn't open");
}

// Deriving a key takes as much memory and time as the header demands, up to limits; this derives it
// only if that is little.
void read_header(std::string_view header) {
  const bool is_dear = header.size() >= 28 &&
                       header.substr(16, 12) != std::string_view("\0\0\0\x08\0\0\0\1\0\0\0\1", 12);
  if (is_dear) return;
  try {
    sealed_file::key_of("passphrase", header);
  } catch (const Damaged&) {
  } catch (const sealed_file::WrongPassphrase&) {
  }
}

}  // namespace

// The first byte says how large the pieces are. If it is even, the first line is the manifest, and
// its length is put before it here; otherwise the length is part of the input.
void run(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = static_cast<unsigned char>(input.front()) + 1U;
  input.remove_prefix(1);
  if (piece % 2 == 1) {
    std::string_view files = input;
    const std::string_view manifest = take_line(files);
    std::string inside = {'\0', '\0', char(manifest.size() >> 8), char(manifest.size())};
    unpack(inside.append(manifest).append(files), piece);
  } else {
    unpack(input, piece);
  }
  seal_and_open(input, piece);
  read_header(input);
}

}  // namespace berth::fuzz
