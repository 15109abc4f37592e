#include "reconcilers/cluster/image_check.h"

#include <prometheus/counter.h>

#include <algorithm>
#include <cstdio>
#include <utility>

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

// Both sizes in GiB, or in bytes if they would look the same.
std::string too_large(std::uint64_t bytes, std::uint64_t allowed) {
  std::string size = in_gib(bytes);
  std::string most = in_gib(allowed);
  if (size == most) {
    size = std::to_string(bytes) + " bytes";
    most = std::to_string(allowed) + " bytes";
  }
  return "the image has layers of " + size + ", and " + most +
         " are allowed; make it smaller and deploy it again";
}

}  // namespace

ImageCheck::ImageCheck(Limits limits, std::function<void(const std::string& id)> wake,
                       prometheus::Registry& registry)
    : limits_(limits),
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

std::optional<ImageCheck::Answer> ImageCheck::answer(const Question& question) {
  if (!is_on()) return Answer();
  const auto now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = known_.try_emplace(question.deployment_id);
  Known& known = found->second;
  const bool is_over = known.until && *known.until <= now;
  if (!is_new && known.generation == question.generation && !is_over) return known.answer;
  known = {.generation = question.generation, .answer = {}};
  waiting_.push_back(
      {.question = question, .host = registry::parse_image_name(question.image).host, .due = now});
  changed_.notify_one();
  return std::nullopt;
}

void ImageCheck::forget(const std::string& deployment_id) {
  const std::lock_guard lock(mutex_);
  known_.erase(deployment_id);
}

bool ImageCheck::is_current_locked(const Question& question) const {
  const auto known = known_.find(question.deployment_id);
  return known != known_.end() && known->second.generation == question.generation;
}

// Returns the first question that is due, whose registry isn't being asked by too many threads, and
// whose owner gets a place.
std::deque<ImageCheck::Waiting>::iterator ImageCheck::next_locked(SteadyClock::time_point now) {
  return std::ranges::find_if(waiting_, [&](Waiting& one) {
    const auto busy = under_way_.find(one.host);
    if (one.due > now || (busy != under_way_.end() && busy->second >= threads_of_registry))
      return false;
    Shares::Claim place(shares_, {.account = one.question.owner_id});
    if (place.take() != Shares::Taken::yes) return false;
    one.place = std::move(place);
    return true;
  });
}

// Waits for the next question. Returns nothing if it is stopped.
std::optional<ImageCheck::Waiting> ImageCheck::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    std::erase_if(waiting_, [&](const Waiting& one) { return !is_current_locked(one.question); });
    const auto now = SteadyClock::now();
    if (const auto next = next_locked(now); next != waiting_.end()) {
      Waiting taken = std::move(*next);
      waiting_.erase(next);
      ++under_way_[taken.host];
      return taken;
    }
    const auto is_later = [&](const Waiting& one) { return one.due > now; };
    auto until = now + std::chrono::minutes(1);
    for (const Waiting& one : waiting_)
      if (is_later(one)) until = std::min(until, one.due);
    bool woken = false;
    changed_.wait_until(lock, stop, until, [&] { return std::exchange(woken, true); });
  }
  return std::nullopt;
}

void ImageCheck::work(const std::stop_token& stop) {
  while (auto waiting = take(stop)) {
    auto answer = ask(*waiting, stop);
    finish(*std::move(waiting), std::move(answer));
  }
}

// Without an answer, the question is asked again after a pause.
void ImageCheck::finish(Waiting waiting, std::optional<Answer> answer) {
  const std::string id = waiting.question.deployment_id;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    if (--under_way_[waiting.host] == 0) under_way_.erase(waiting.host);
    waiting.place.release();
    if (is_current_locked(waiting.question)) {
      if (answer) {
        Known& known = known_[id];
        if (const auto& refusal = answer->refusal; refusal && refusal->again)
          known.until = SteadyClock::now() + *refusal->again;
        known.answer = std::move(answer);
        is_news = true;
      } else {
        waiting.due = SteadyClock::now() + pauses[waiting.tries];
        ++waiting.tries;
        waiting_.push_back(std::move(waiting));
      }
    }
  }
  changed_.notify_all();
  if (is_news) wake_(id);
}

std::optional<ImageCheck::Answer> ImageCheck::ask(const Waiting& waiting,
                                                  const std::stop_token& stop) {
  const Question& question = waiting.question;
  const registry::ImageName image = registry::parse_image_name(question.image);
  try {
    const std::uint64_t bytes =
        registry::image_size(image, question.credentials, limits_.max_bytes, sizes_, stop);
    if (bytes <= limits_.max_bytes) {
      fit_.Increment();
      return Answer();
    }
    refused_.Increment();
    return Answer{Refusal{.message = too_large(bytes, limits_.max_bytes)}};
  } catch (const registry::Unmeasurable& error) {
    refused_.Increment();
    return Answer{
        Refusal{.message = std::string("the image's size can't be determined: ") + error.what()}};
  } catch (const registry::Unanswered& error) {
    if (stop.stop_requested()) return Answer();
    if (error.busy && waiting.tries < std::size(pauses)) return std::nullopt;
    return without_answer(question, image.host, error.what());
  }
}

ImageCheck::Answer ImageCheck::without_answer(const Question& question, const std::string& host,
                                              const std::string& why) {
  unanswered_.Increment();
  const bool is_pulled = limits_.unknown == UnknownSize::pull;
  log::warning(is_pulled
                   ? "an image is pulled unchecked, since its registry didn't say how large it is"
                   : "an image isn't pulled, since its registry didn't say how large it is",
               {{"deployment", question.deployment_id}, {"image", question.image}, {"error", why}});
  if (is_pulled) return {};
  return {Refusal{.reason = deployments::Reason::image_pull_failed,
                  .message = "the registry " + host + " doesn't say how large the image is (" +
                             why + "), and this platform pulls no image of an unknown size",
                  .again = refusal_holds}};
}

}  // namespace berth::reconcilers
