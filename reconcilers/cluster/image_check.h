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

#include "controller/base/shares.h"
#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/unknown_size.h"
#include "reconcilers/registry/image_size.h"

namespace berth::reconcilers {

// Asks the registries how large images are, before a node pulls them, so that nobody fills a node's
// disk with an image. It has threads of its own, because a registry may take seconds and
// deployments must not wait for one another. What a registry answers, or doesn't, counts for the
// question alone: another image, or the same one with other credentials, is asked about by itself.
// Thread-safe.
class ImageCheck {
 public:
  // How many images are asked about at the same time; of one registry one less, so that a slow one
  // doesn't hold up the others. An owner has a share of them (base/shares.h).
  static constexpr int threads = 4;
  static constexpr int threads_of_registry = threads - 1;
  // A registry that is silent or busy is asked again this often, after these pauses.
  static constexpr std::chrono::seconds pauses[] = {std::chrono::seconds(1),
                                                    std::chrono::seconds(4)};
  // A refusal for want of an answer holds this long; then the registry is asked again.
  static constexpr std::chrono::seconds refusal_holds{30};

  struct Question {
    std::string deployment_id;
    std::string owner_id;
    std::int64_t generation = 0;  // the deployment's generation: each change asks a new question
    std::string image;
    std::optional<registry::Credentials> credentials;
  };

  struct Limits {
    std::uint64_t max_bytes = 0;  // the most that an image may have; 0: any, and nobody is asked
    UnknownSize unknown = UnknownSize::pull;
  };
  // `wake` is called with a deployment's id, from one of the threads, when its question is
  // answered.
  ImageCheck(Limits limits, std::function<void(const std::string& id)> wake,
             prometheus::Registry& registry);
  ~ImageCheck();  // calls stop()
  ImageCheck(const ImageCheck&) = delete;
  ImageCheck& operator=(const ImageCheck&) = delete;

  void start();
  // Returns when the requests that are under way have been broken off, which takes a second at
  // most.
  void stop();

  bool is_on() const { return limits_.max_bytes > 0; }
  struct Refusal {
    deployments::Reason reason = deployments::Reason::image_too_large;
    std::string message;  // a sentence for the deployment's owner
    // When it is worth asking again; empty if only another image would be let through.
    std::optional<std::chrono::milliseconds> again = {};
  };
  struct Answer {
    std::optional<Refusal> refusal;  // empty if the image may be pulled
  };
  // Returns whether the image may be pulled. Returns nothing while the registry is asked; `wake` is
  // called afterwards. The answer is kept until forget() is called, or another generation is asked
  // about, or the refusal's `again` has passed. An image whose registry gives no answer may be
  // pulled, which is said in the log, or is refused with the reason image_pull_failed, as the
  // limits say.
  std::optional<Answer> answer(const Question& question);
  // Forgets the answer about a deployment.
  void forget(const std::string& deployment_id);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Known {
    std::int64_t generation = 0;
    std::optional<Answer> answer;  // empty while the registry is asked
    std::optional<SteadyClock::time_point> until = {};
  };
  struct Waiting {
    Question question;
    std::string host;
    SteadyClock::time_point due;
    size_t tries = 0;
    Shares::Claim place = {};  // the owner's place while the registry is asked
  };
  void work(const std::stop_token& stop);
  std::optional<Waiting> take(const std::stop_token& stop);
  std::deque<Waiting>::iterator next_locked(SteadyClock::time_point now);
  bool is_current_locked(const Question& question) const;
  void finish(Waiting waiting, std::optional<Answer> answer);
  std::optional<Answer> ask(const Waiting& waiting, const std::stop_token& stop);
  Answer without_answer(const Question& question, const std::string& host, const std::string& why);

  const Limits limits_;
  const std::function<void(const std::string& id)> wake_;
  prometheus::Counter& fit_;
  prometheus::Counter& refused_;
  prometheus::Counter& unanswered_;

  registry::KnownSizes sizes_;
  Shares shares_{Pool::image_checks, threads};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;           // in the order in which they were asked
  std::map<std::string, Known> known_;    // by deployment
  std::map<std::string, int> under_way_;  // by registry
  std::vector<std::jthread> threads_;
};

}  // namespace berth::reconcilers
