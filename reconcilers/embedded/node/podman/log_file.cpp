#include "reconcilers/embedded/node/podman/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "controller/base/descriptor.h"
#include "controller/base/text.h"

namespace berth::embedded::podman {
namespace {

// conmon cuts what has no line feed into parts of about 8 KiB. So many bytes of them are put
// together.
constexpr std::size_t longest_line = std::size_t{64} << 10;
constexpr std::size_t most_at_once = std::size_t{64} << 10;
constexpr std::size_t kubelet_bytes = 2'048;
constexpr std::size_t kubelet_lines = 80;

struct Record {
  std::int64_t at = 0;
  bool complete = true;
  std::string_view text;
};

template <typename Number>
Number number(std::string_view text) {
  return parse_number<Number>(text).value_or(0);
}

// `2026-11-27T00:02:27.141829061+00:00`, nanoseconds since the epoch.
std::int64_t moment(std::string_view text) {
  constexpr std::size_t seconds_end = 19;
  if (text.size() < seconds_end) return 0;
  std::tm parts{};
  parts.tm_year = number<int>(text.substr(0, 4)) - 1900;
  parts.tm_mon = number<int>(text.substr(5, 2)) - 1;
  parts.tm_mday = number<int>(text.substr(8, 2));
  parts.tm_hour = number<int>(text.substr(11, 2));
  parts.tm_min = number<int>(text.substr(14, 2));
  parts.tm_sec = number<int>(text.substr(17, 2));
  std::int64_t at = std::int64_t{::timegm(&parts)} * 1'000'000'000;
  const std::size_t zone = text.find_first_of("+-Z", seconds_end);
  if (zone == std::string_view::npos) return at;
  if (text[seconds_end] == '.') {
    std::string digits(text.substr(seconds_end + 1, zone - seconds_end - 1));
    digits.resize(9, '0');
    at += number<std::int64_t>(digits);
  }
  if (text[zone] != 'Z' && text.size() >= zone + 6) {
    const std::int64_t minutes = number<std::int64_t>(text.substr(zone + 1, 2)) * 60 +
                                 number<std::int64_t>(text.substr(zone + 4, 2));
    at += (text[zone] == '+' ? -1 : 1) * minutes * 60 * 1'000'000'000;
  }
  return at;
}

Record parsed(std::string_view line) {
  Record record;
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || second + 2 > line.size()) {
    record.text = line;
    return record;
  }
  record.at = moment(line.substr(0, first));
  record.complete = line[second + 1] != 'P';
  record.text = line.substr(std::min(second + 3, line.size()));
  return record;
}

Descriptor open_file(const std::filesystem::path& file) {
  return Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
}

// Where the last `lines` lines begin.
off_t start_of_tail(int file, std::uint64_t lines) {
  off_t at = ::lseek(file, 0, SEEK_END);
  if (lines == 0) return at;
  std::uint64_t seen = 0;
  std::array<char, most_at_once> part{};
  // A line of the file counts by its end. A text that was cut into parts counts as several.
  while (at > 0) {
    const off_t begin = std::max<off_t>(0, at - off_t(part.size()));
    const ssize_t size = ::pread(file, part.data(), size_t(at - begin), begin);
    if (size <= 0) return 0;
    for (off_t i = size - 1; i >= 0; --i) {
      if (part.at(size_t(i)) != '\n') continue;
      if (seen == lines) return begin + i + 1;
      ++seen;
    }
    at = begin;
  }
  return 0;
}

class FileLog final : public RunLog {
 public:
  FileLog(std::filesystem::path path, LogEnd ended, std::optional<std::uint64_t> tail_lines)
      : path_(std::move(path)), ended_(std::move(ended)), file_(open_file(path_)) {
    if (tail_lines && file_.valid())
      ::lseek(file_.get(), start_of_tail(file_.get(), *tail_lines), SEEK_SET);
  }

  std::vector<OutputLine> read(std::size_t most) override {
    std::vector<OutputLine> lines;
    // It is asked first: what was written before the end is read afterwards.
    const bool ended = *ended_;
    while (lines.size() < most) {
      if (take_lines(lines, most)) continue;
      if (!fill()) break;
    }
    at_end_ = ended && lines.size() < most;
    if (at_end_ && !text_.empty() && lines.size() < most) finish_line(lines);
    return lines;
  }

  bool over() override { return at_end_ || (*ended_ && !file_.valid() && !open_again()); }

 private:
  // Moves complete lines from the buffer. Returns false if there is none.
  bool take_lines(std::vector<OutputLine>& lines, std::size_t most) {
    bool any = false;
    while (lines.size() < most) {
      const std::size_t end = buffer_.find('\n', parsed_);
      if (end == std::string::npos) break;
      const Record record = parsed(std::string_view(buffer_).substr(parsed_, end - parsed_));
      parsed_ = end + 1;
      if (text_.empty()) at_ = record.at;
      text_ += record.text;
      if (record.complete || text_.size() >= longest_line) finish_line(lines);
      any = true;
    }
    if (parsed_ == buffer_.size()) {
      buffer_.clear();
      parsed_ = 0;
    }
    return any;
  }

  void finish_line(std::vector<OutputLine>& lines) {
    if (!text_.empty() && text_.back() == '\r') text_.pop_back();
    lines.push_back({.at = at_, .text = std::move(text_)});
    text_.clear();
  }

  // Reads on. Returns false if there is nothing more at present.
  bool fill() {
    if (!file_.valid() && !open_again()) return false;
    std::array<char, most_at_once> part{};
    ssize_t size = ::read(file_.get(), part.data(), part.size());
    if (size == 0 && was_replaced() && open_again())
      size = ::read(file_.get(), part.data(), part.size());
    if (size <= 0) return false;
    buffer_.erase(0, parsed_);
    parsed_ = 0;
    // A line without an end isn't conmon's.
    if (buffer_.size() > 2 * longest_line) buffer_.clear();
    buffer_.append(part.data(), size_t(size));
    return true;
  }

  bool was_replaced() const {
    struct stat mine {};
    struct stat current {};
    return ::fstat(file_.get(), &mine) == 0 && ::stat(path_.c_str(), &current) == 0 &&
           (mine.st_ino != current.st_ino || current.st_size < ::lseek(file_.get(), 0, SEEK_CUR));
  }
  bool open_again() {
    file_ = open_file(path_);
    return file_.valid();
  }

  const std::filesystem::path path_;
  const LogEnd ended_;
  Descriptor file_;
  std::string buffer_;
  std::size_t parsed_ = 0;  // the part of the buffer that was moved
  std::string text_;        // of a line that isn't complete
  std::int64_t at_ = 0;
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<RunLog> open_log(std::filesystem::path file, LogEnd ended,
                                 std::optional<std::uint64_t> tail_lines) {
  return std::make_unique<FileLog>(std::move(file), std::move(ended), tail_lines);
}

std::string last_words(const std::filesystem::path& file) {
  FileLog log(file, std::make_shared<const std::atomic<bool>>(true), kubelet_lines);
  std::string words;
  for (const OutputLine& line : log.read(kubelet_lines)) words += line.text + "\n";
  if (words.size() <= kubelet_bytes) return words;
  std::size_t begin = words.size() - kubelet_bytes;
  while (begin < words.size() && (static_cast<unsigned char>(words[begin]) & 0xc0) == 0x80) ++begin;
  return words.substr(begin);
}

}  // namespace berth::embedded::podman
