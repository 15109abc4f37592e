#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "controller/domain/deployments/pushes.h"
#include "controller/domain/kernel/loop.h"

namespace berth::reconcilers {

// Asks registries for the digests of tags that deployments follow, has new images rolled out and
// failed ones rolled back (controller/domain/deployments/pushes.h), and deletes previews whose time
// is over. One loop runs for each database. Used by one thread.
class PushLoop {
 public:
  static constexpr std::string_view name = "pushes";
  // How many questions are asked at the same time, how many of them of one registry, and how many a
  // round has at most.
  static constexpr int threads = 4;
  static constexpr int threads_of_registry = 2;
  static constexpr int questions_of_round = 64;
  // A question without an answer that took this long makes its registry a silent one: the others of
  // the round count as unanswered, too, without being asked. So a registry that hangs costs a round
  // the time of one question, however many deployments follow it.
  static constexpr std::chrono::milliseconds silent_after{3'000};
  // No question is begun later than this after the first one of its round. Those that are left are
  // the first ones of the next round.
  static constexpr std::chrono::milliseconds asking_time{10'000};
  static constexpr int judged_in_round = 100;
  static constexpr int previews_of_round = 20;

  struct Parts {
    std::string data_key;
    deployments::Rules rules;
    // Asks a registry, and says why there is no digest instead of throwing. Called on `threads`
    // threads at once.
    std::function<pushes::Answer(const pushes::Question&, const std::stop_token&)> ask;
    std::chrono::milliseconds silent_after = PushLoop::silent_after;
  };
  PushLoop(Parts parts, prometheus::Registry& registry);

  Loop loop();
  // Does what is due. What fails for one deployment doesn't hold up the others. Throws the first
  // failure at the end, such as Error `unavailable` if the database can't be used.
  void run_once(Round& round);

 private:
  void ask(Round& round);
  void record(Round& round, std::span<const pushes::Question> questions,
              std::span<const pushes::Answer> answers);
  void judge(Round& round);
  void end_previews(Round& round);

  const Parts parts_;
  prometheus::Counter& asked_;
  prometheus::Counter& unanswered_;
  prometheus::Counter& rolled_out_;
  prometheus::Counter& rolled_back_;
};

}  // namespace berth::reconcilers
