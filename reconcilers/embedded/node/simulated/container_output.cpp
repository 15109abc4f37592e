#include "reconcilers/embedded/node/simulated/container_output.h"

#include <algorithm>

namespace berth::embedded {
namespace {

// A talkative container writes two lines at a time with the same nanosecond, as happens when a
// program writes several lines at once.
constexpr std::int64_t talk_interval = 100'000'000;
constexpr std::uint64_t kept_talk = 5'000;

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

ContainerOutput::ContainerOutput(std::string name, std::string image, ImageBehaviour behaviour,
                                 std::string port, std::int64_t began,
                                 std::optional<std::vector<std::string>> lines)
    : name_(std::move(name)),
      image_(std::move(image)),
      behaviour_(behaviour),
      port_(std::move(port)),
      began_(began),
      lines_(std::move(lines)) {}

void ContainerOutput::end(std::int64_t at) {
  std::int64_t running = 0;
  ended_.compare_exchange_strong(running, at);
}

std::vector<std::string> ContainerOutput::words() const {
  if (lines_) return *lines_;
  std::vector<std::string> lines{"simulated container " + name_ + " of image " + image_};
  const std::string words = last_words(behaviour_);
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = words.find('\n', begin);
    lines.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!port_.empty()) lines.push_back("listening on port " + port_);
  return lines;
}

// How often it has talked.
std::uint64_t ContainerOutput::talks(std::int64_t now) const {
  if (behaviour_ != ImageBehaviour::talks) return 0;
  const std::int64_t ended = ended_;
  const std::int64_t until = ended == 0 ? now : std::min(now, ended);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, until - began_) / talk_interval);
}

std::uint64_t ContainerOutput::first(std::int64_t now) const {
  const std::uint64_t all = talks(now);
  return all <= kept_talk ? 0 : words().size() + 2 * (all - kept_talk);
}

std::uint64_t ContainerOutput::behind(std::int64_t now) const {
  return words().size() + 2 * talks(now);
}

OutputLine ContainerOutput::line(std::uint64_t number) const {
  const auto lines = words();
  if (number < lines.size()) return {began_ + static_cast<std::int64_t>(number), lines[number]};
  const std::uint64_t talk = (number - lines.size()) / 2 + 1;
  const bool first_of_two = (number - lines.size()) % 2 == 0;
  return {began_ + static_cast<std::int64_t>(talk) * talk_interval,
          (first_of_two ? "tick " : "tock ") + std::to_string(talk)};
}

namespace {

class SimulatedLog : public RunLog {
 public:
  SimulatedLog(std::shared_ptr<const ContainerOutput> output,
               std::optional<std::uint64_t> tail_lines)
      : output_(std::move(output)) {
    if (!tail_lines) return;
    const std::uint64_t behind = output_->behind(nanoseconds_now());
    next_ = behind - std::min(behind, *tail_lines);
  }

  std::vector<OutputLine> read(std::size_t most) override {
    const std::int64_t now = nanoseconds_now();
    next_ = std::max(next_, output_->first(now));
    const std::uint64_t end = std::min(output_->behind(now), next_ + most);
    std::vector<OutputLine> lines;
    for (; next_ < end; ++next_) lines.push_back(output_->line(next_));
    return lines;
  }

  bool over() override {
    return output_->has_ended() && next_ >= output_->behind(nanoseconds_now());
  }

 private:
  const std::shared_ptr<const ContainerOutput> output_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::shared_ptr<RunLog> log_of(std::shared_ptr<const ContainerOutput> output,
                               std::optional<std::uint64_t> tail_lines) {
  return std::make_shared<SimulatedLog>(std::move(output), tail_lines);
}

}  // namespace berth::embedded
