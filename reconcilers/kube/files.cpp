#include "reconcilers/kube/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace berth::kube {
namespace {

constexpr std::chrono::minutes longest_unread{1};

}  // namespace

std::string read_credential_file(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0)
    throw std::runtime_error(file.string() + ": " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw std::runtime_error(file.string() + ": isn't a regular file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + ": " + std::strerror(errno));
  // Reads one byte more than allowed, to notice that the file is too large.
  std::string text(std::min(size_t(info.st_size), max_credential_file_bytes) + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(in.gcount()));
  if (in.bad()) throw std::runtime_error(file.string() + ": can't be read");
  if (text.size() > max_credential_file_bytes)
    throw std::runtime_error(file.string() + ": is larger than " +
                             std::to_string(max_credential_file_bytes) + " bytes");
  text.shrink_to_fit();
  return text;
}

RotatingFile::Stamp RotatingFile::stamp() const {
  struct stat info {};
  if (::stat(file_.c_str(), &info) != 0) return {};
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size, info.st_ino};
}

void RotatingFile::read(const Stamp& now) {
  try {
    std::string text = read_credential_file(file_);
    if (text.empty()) throw std::runtime_error(file_.string() + ": is empty");
    text_ = std::move(text);
    stamp_ = now;
  } catch (const std::runtime_error&) {
    if (text_.empty()) throw;
  }
}

const std::string& RotatingFile::text() {
  const Stamp now = stamp();
  const auto time = std::chrono::steady_clock::now();
  if (!read_at_ || now != stamp_ || time - *read_at_ >= longest_unread) {
    read(now);
    read_at_ = time;
  }
  return text_;
}

}  // namespace berth::kube
