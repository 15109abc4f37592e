#include "reconcilers/embedded/node/simulated/container_output.h"

#include <algorithm>

namespace berth::embedded {
namespace {

constexpr std::int64_t second = 1'000'000'000;
// A talkative container writes two lines at a time with the same nanosecond, as happens when a
// program writes several lines at once.
constexpr std::int64_t talk_interval = second / 10;
constexpr std::int64_t kept_talk = 5'000;

}  // namespace

std::string last_words(ImageBehaviour behaviour) {
  switch (behaviour) {
    case ImageBehaviour::crashes:
      return "starting\nError: simulated crash: this image always exits with 1\n";
    case ImageBehaviour::needs_root:
      return "starting\nmkdir: cannot create directory '/var/cache/app': Permission denied\n";
    case ImageBehaviour::out_of_memory:
      return "starting\nallocating more memory than allowed\n";
    case ImageBehaviour::not_listening:
      return "starting\nrunning, but on no port that anybody asked for\n";
    case ImageBehaviour::port_denied:
      return "starting\nlisten: Permission denied: ports below 1024 need privileges, which this "
             "container doesn't have\n";
    default:
      return "starting\n";
  }
}

ContainerOutput::ContainerOutput(const std::string& name, const std::string& image,
                                 ImageBehaviour behaviour, const std::string& port,
                                 std::int64_t began)
    : behaviour_(behaviour), began_(began) {
  first_.push_back("simulated container " + name + " of image " + image);
  const std::string words = last_words(behaviour);
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = words.find('\n', begin);
    first_.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!port.empty()) first_.push_back("listening on port " + port);
}

std::vector<OutputLine> ContainerOutput::lines(std::int64_t now) const {
  std::vector<OutputLine> lines;
  const std::int64_t until = std::min(now, ended_.value_or(now));
  const std::int64_t talks = behaviour_ == ImageBehaviour::talks
                                 ? std::max<std::int64_t>(0, until - began_) / talk_interval
                                 : 0;
  if (talks <= kept_talk) {
    std::int64_t at = began_;
    for (const std::string& text : first_) lines.push_back({at++, text});
  }
  for (std::int64_t i = std::max<std::int64_t>(1, talks - kept_talk + 1); i <= talks; ++i) {
    const std::int64_t at = began_ + i * talk_interval;
    lines.push_back({at, "tick " + std::to_string(i)});
    lines.push_back({at, "tock " + std::to_string(i)});
  }
  return lines;
}

std::string shown_lines(const std::vector<OutputLine>& lines, const LogRequest& request,
                        size_t first) {
  std::string text;
  for (size_t i = first; i < lines.size(); ++i) {
    if (request.since && lines[i].at < *request.since) continue;
    if (request.timestamps) text += nano_timestamp(lines[i].at) + " ";
    text += lines[i].text + "\n";
  }
  return text;
}

}  // namespace berth::embedded
