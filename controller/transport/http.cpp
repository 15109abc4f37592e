#include "controller/transport/http.h"

#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "controller/base/url.h"
#include "controller/base/visible_text.h"

namespace berth::api {

BodyFile::BodyFile(const std::filesystem::path& directory) {
  std::string name = (directory / "upload.XXXXXX").string();
  fd_ = mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0)
    throw std::runtime_error("no file can be created in " + directory.string() + ": " +
                             std::strerror(errno));
  path_ = name;
}

BodyFile::~BodyFile() {
  close(fd_);
  unlink(path_.c_str());
}

void BodyFile::append(std::string_view data) {
  bytes_ += data.size();
  while (!data.empty()) {
    const ssize_t written = write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw std::runtime_error(path_.string() + " can't be written: " + std::strerror(errno));
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}
bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); });
  if (found == fields_.end()) return std::nullopt;
  return found->value;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); }));
}

bool Headers::mentions(std::string_view name, std::string_view text) const {
  return std::ranges::any_of(fields_, [&](const Field& field) {
    return same_name(field.name, name) && field.value.find(text) != std::string_view::npos;
  });
}

std::optional<Query> parse_form(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::string_view raw_name = pair.substr(0, pair.find('='));
    auto name = percent_decode(raw_name, Plus::is_blank);
    auto value =
        percent_decode(pair.substr(std::min(pair.size(), raw_name.size() + 1)), Plus::is_blank);
    if (!name || !value || query.size() == max_form_fields) return std::nullopt;
    query.emplace(std::move(*name), std::move(*value));
  }
  return query;
}

bool is_utf8(const Query& query) {
  return std::ranges::all_of(
      query, [](const auto& pair) { return berth::is_utf8(pair.first + pair.second); });
}

}  // namespace berth::api
