#pragma once

#include <filesystem>
#include <string>

namespace berth::embedded {

// Returns what a file has, or as much of it as can be read; nothing if it can't be opened. Doesn't
// throw: files of /proc and of cgroups go away while they are read, when their process ends.
std::string file_text(const std::filesystem::path& file);
// The same without line ends and spaces at its end.
std::string trimmed_file_text(const std::filesystem::path& file);

}  // namespace berth::embedded
