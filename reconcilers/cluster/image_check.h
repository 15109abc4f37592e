#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "reconcilers/registry/image_size.h"

namespace berth::reconcilers {

// Asks the registries how large images are, before a node pulls them, so that nobody fills a node's
// disk with an image. It has threads of its own, because a registry may take seconds and
// deployments must not wait for one another. Thread-safe.
class ImageCheck {
 public:
  // How many registries or images are asked at the same time.
  static constexpr int threads = 4;
  // A registry that gave no answer isn't asked again before this time is over; its images are let
  // through meanwhile. So a thousand deployments don't wait for it one after the other.
  static constexpr std::chrono::seconds pause_after_silence{60};

  struct Question {
    std::string deployment_id;
    std::int64_t generation = 0;  // of the deployment: each change is a question of its own
    std::string image;
    std::optional<registry::Credentials> credentials;
  };

  // `max_bytes` is the most that an image may have (0: any size, and no registry is asked). `wake`
  // is called with a deployment's id, from one of the threads, when its question is answered.
  ImageCheck(std::uint64_t max_bytes, std::function<void(const std::string& id)> wake,
             prometheus::Registry& registry);
  ~ImageCheck();  // calls stop()
  ImageCheck(const ImageCheck&) = delete;
  ImageCheck& operator=(const ImageCheck&) = delete;

  void start();
  // Returns when the requests that are under way have been broken off, which takes a second at
  // most.
  void stop();

  bool is_on() const { return max_bytes_ > 0; }
  // Returns why the image must not be pulled, as a sentence for the deployment's owner, and an
  // empty text if it may be. Returns nothing while the registry is asked; `wake` is called
  // afterwards. The answer is kept until forget() is called, or another generation is asked about.
  // An image whose registry gives no answer may be pulled: this is said in the log.
  std::optional<std::string> refusal(const Question& question);
  // Forgets the answer about a deployment.
  void forget(const std::string& deployment_id);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Known {
    std::int64_t generation = 0;
    std::optional<std::string> refusal;  // empty while the registry is asked
  };
  void work(const std::stop_token& stop);
  std::string ask(const Question& question, const std::stop_token& stop);
  bool is_silent(const std::string& host);
  void pause(const std::string& host);

  const std::uint64_t max_bytes_;
  const std::function<void(const std::string& id)> wake_;
  prometheus::Counter& fit_;
  prometheus::Counter& refused_;
  prometheus::Counter& unanswered_;

  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<Question> questions_;
  std::map<std::string, Known> known_;  // by deployment
  // By registry. There are as many as `registries` allows.
  std::map<std::string, SteadyClock::time_point> silent_until_;
  std::vector<std::jthread> threads_;
};

}  // namespace berth::reconcilers
