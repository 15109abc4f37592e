#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

// The patterns of a .containerignore or .dockerignore: each line is one, with `*` and `?` within a
// name, `**` for any number of directories, [a-z], and `\` before a character that means itself. A
// line that begins with `!` takes back what an earlier one left out, and one with `#` is a comment.
// A pattern also means everything below the directories that it matches. The last line that matches
// a path counts.
class IgnoreFile {
 public:
  explicit IgnoreFile(std::string_view text);

  // Whether the file or directory at this path, relative to the folder, is left out.
  bool leaves_out(std::string_view path) const;
  // Whether something below a directory that is left out may be taken back.
  bool has_exceptions() const { return has_exceptions_; }

 private:
  struct Pattern {
    std::vector<std::string> parts;
    bool is_exception = false;
  };
  std::vector<Pattern> patterns_;
  bool has_exceptions_ = false;
};

// Whether a name without slashes matches a pattern without slashes.
bool matches_name(std::string_view pattern, std::string_view name);

}  // namespace berth::cli
