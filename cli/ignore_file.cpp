#include "cli/ignore_file.h"

#include <algorithm>
#include <optional>

#include "controller/base/text.h"

namespace berth::cli {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else
      parts.emplace_back(part);
  }
  return parts;
}

// Reads a set such as [a-z] or [^ab] at the beginning of the pattern, and moves behind it. Returns
// nothing if it has no end.
std::optional<bool> in_set(std::string_view& pattern, char c) {
  std::string_view rest = pattern.substr(1);
  const bool is_negated = rest.starts_with('^') || rest.starts_with('!');
  if (is_negated) rest.remove_prefix(1);
  bool is_in = false;
  for (bool is_first = true; !rest.empty(); is_first = false) {
    if (rest.front() == ']' && !is_first) {
      pattern = rest.substr(1);
      return is_in != is_negated;
    }
    const auto take = [&] {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
      const char taken = rest.front();
      rest.remove_prefix(1);
      return taken;
    };
    const char low = take();
    char high = low;
    if (rest.size() > 1 && rest.front() == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = take();
    }
    is_in = is_in || (low <= c && c <= high);
  }
  return std::nullopt;
}

// Whether one character matches the beginning of the pattern, which isn't `*`; moves behind it.
bool matches_one(std::string_view& pattern, char c) {
  if (pattern.front() == '?') {
    pattern.remove_prefix(1);
    return true;
  }
  if (pattern.front() == '[') {
    std::string_view behind = pattern;
    if (const auto found = in_set(behind, c)) {
      pattern = behind;
      return *found;
    }
  }
  if (pattern.front() == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  const bool same = pattern.front() == c;
  pattern.remove_prefix(1);
  return same;
}

// Whether the whole pattern matches the first `size` parts of a path.
bool matches_path(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
                  size_t size) {
  // reachable[j]: whether the parts of the pattern that were looked at match the first j of the
  // path.
  std::vector<bool> reachable(size + 1, false);
  reachable[0] = true;
  for (const std::string& part : pattern) {
    std::vector<bool> next(size + 1, false);
    if (part == "**") {
      bool any = false;
      for (size_t j = 0; j <= size; ++j) next[j] = any = any || reachable[j];
    } else {
      for (size_t j = 0; j < size; ++j)
        if (reachable[j] && matches_name(part, path[j])) next[j + 1] = true;
    }
    reachable = std::move(next);
  }
  return reachable[size];
}

}  // namespace

// Goes back to the last `*` if something doesn't match behind it, so the time is at most the
// product of both lengths.
bool matches_name(std::string_view pattern, std::string_view name) {
  std::optional<std::string_view> star;  // the pattern behind the last `*`
  std::string_view from;                 // what of the name it has to match now
  while (!name.empty() || !pattern.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      star = pattern;
      from = name;
      continue;
    }
    if (!name.empty() && !pattern.empty()) {
      if (matches_one(pattern, name.front())) {
        name.remove_prefix(1);
        continue;
      }
    }
    if (!star || from.empty()) return false;
    from.remove_prefix(1);
    name = from;
    pattern = *star;
  }
  return true;
}

IgnoreFile::IgnoreFile(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('#')) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    Pattern pattern;
    if (line.starts_with('!')) {
      pattern.is_exception = true;
      line = trimmed(line.substr(1));
    }
    pattern.parts = parts_of(line);
    if (pattern.parts.empty()) continue;
    has_exceptions_ = has_exceptions_ || pattern.is_exception;
    patterns_.push_back(std::move(pattern));
  }
}

bool IgnoreFile::leaves_out(std::string_view path) const {
  const std::vector<std::string> parts = parts_of(path);
  bool left_out = false;
  for (const Pattern& pattern : patterns_) {
    if (pattern.is_exception != left_out) continue;  // it would change nothing
    for (size_t size = 1; size <= parts.size(); ++size)
      if (matches_path(pattern.parts, parts, size)) {
        left_out = !pattern.is_exception;
        break;
      }
  }
  return left_out;
}

}  // namespace berth::cli
