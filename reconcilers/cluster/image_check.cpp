#include "reconcilers/cluster/image_check.h"

#include <prometheus/counter.h>

#include <cstdio>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("berth_image_checks_total")
      .Help(
          "Questions to registries about the size of an image, by what came of them: the image "
          "fits, is refused, or the registry gave no answer and the image is pulled unchecked")
      .Register(registry);
}

std::string in_gib(std::uint64_t bytes) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", double(bytes) / gib);
  return text;
}

}  // namespace

ImageCheck::ImageCheck(std::uint64_t max_bytes, std::function<void(const std::string& id)> wake,
                       prometheus::Registry& registry)
    : max_bytes_(max_bytes),
      wake_(std::move(wake)),
      fit_(counters(registry).Add({{"result", "fits"}})),
      refused_(counters(registry).Add({{"result", "refused"}})),
      unanswered_(counters(registry).Add({{"result", "unanswered"}})) {}

ImageCheck::~ImageCheck() { stop(); }

void ImageCheck::start() {
  if (!is_on()) return;
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void ImageCheck::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

std::optional<std::string> ImageCheck::refusal(const Question& question) {
  if (!is_on()) return "";
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = known_.try_emplace(question.deployment_id);
  Known& known = found->second;
  if (!is_new && known.generation == question.generation) return known.refusal;
  known = {.generation = question.generation, .refusal = {}};
  questions_.push_back(question);
  asked_.notify_one();
  return std::nullopt;
}

void ImageCheck::forget(const std::string& deployment_id) {
  const std::lock_guard lock(mutex_);
  known_.erase(deployment_id);
}

void ImageCheck::work(const std::stop_token& stop) {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      if (!asked_.wait(lock, stop, [this] { return !questions_.empty(); })) return;
      question = std::move(questions_.front());
      questions_.pop_front();
      const auto known = known_.find(question.deployment_id);
      if (known == known_.end() || known->second.generation != question.generation) continue;
    }
    std::string refusal = ask(question, stop);
    if (stop.stop_requested()) return;
    {
      const std::lock_guard lock(mutex_);
      const auto known = known_.find(question.deployment_id);
      if (known == known_.end() || known->second.generation != question.generation) continue;
      known->second.refusal = std::move(refusal);
    }
    wake_(question.deployment_id);
  }
}

std::string ImageCheck::ask(const Question& question, const std::stop_token& stop) {
  const registry::ImageName image = registry::parse_image_name(question.image);
  try {
    if (is_silent(image.host)) throw registry::Unanswered("it was silent a moment ago", false);
    const std::uint64_t bytes = registry::image_size(image, question.credentials, stop);
    if (bytes <= max_bytes_) {
      fit_.Increment();
      return "";
    }
    refused_.Increment();
    return "the image has layers of " + in_gib(bytes) + ", and " + in_gib(max_bytes_) +
           " are allowed; make it smaller and deploy it again";
  } catch (const registry::Unmeasurable& error) {
    refused_.Increment();
    return std::string("the image's size can't be told: ") + error.what();
  } catch (const registry::Unanswered& error) {
    if (stop.stop_requested()) return "";
    if (error.busy) pause(image.host);
    unanswered_.Increment();
    log::warning("an image is pulled unchecked, since its registry didn't say how large it is",
                 {{"deployment", question.deployment_id},
                  {"image", question.image},
                  {"error", error.what()}});
    return "";
  }
}

bool ImageCheck::is_silent(const std::string& host) {
  const std::lock_guard lock(mutex_);
  const auto found = silent_until_.find(host);
  return found != silent_until_.end() && SteadyClock::now() < found->second;
}

void ImageCheck::pause(const std::string& host) {
  const std::lock_guard lock(mutex_);
  silent_until_[host] = SteadyClock::now() + pause_after_silence;
}

}  // namespace berth::reconcilers
