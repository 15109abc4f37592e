#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// A key of the configuration file. Plain values are as they were written, a list of them is joined
// with commas, and everything else is JSON.
struct FileEntry {
  std::string key;
  std::string value;
  int line = 0;  // from 1 on
};

// The keys of a configuration file, in its order. Throws std::runtime_error that names `source`,
// and the line if it is known, where the text is no YAML or holds something else than keys and
// values.
std::vector<FileEntry> config_file_entries(std::string_view text, const std::string& source);

}  // namespace berth
