#include "reconcilers/loops/pushes.h"

#include <prometheus/counter.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "controller/base/log.h"
#include "controller/domain/deployments/previews.h"

namespace berth::reconcilers {
namespace {

prometheus::Family<prometheus::Counter>& push_counters(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("berth_pushes_total")
      .Help("Tags that deployments follow: how often registries were asked, and what came of it")
      .Register(registry);
}

// Does pieces of work of which each is done even if an earlier one fails.
class Attempts {
 public:
  template <typename Work>
  void add(Work&& work) {
    try {
      work();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace

PushLoop::PushLoop(Parts parts, prometheus::Registry& registry)
    : parts_(std::move(parts)),
      asked_(push_counters(registry).Add({{"result", "answered"}})),
      unanswered_(push_counters(registry).Add({{"result", "unanswered"}})),
      rolled_out_(push_counters(registry).Add({{"result", "rolled_out"}})),
      rolled_back_(push_counters(registry).Add({{"result", "rolled_back"}})) {}

Loop PushLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .lease = "pushes",
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the loop that follows images' tags failed"};
}

void PushLoop::run_once(Round& round) {
  Attempts all;
  all.add([&] { judge(round); });
  all.add([&] { ask(round); });
  all.add([&] { end_previews(round); });
  all.rethrow();
}

void PushLoop::end_previews(Round& round) {
  const auto expired =
      round.read([](db::Tx& tx) { return previews::expired(tx, previews_of_round); });
  Attempts all;
  for (const std::string& id : expired)
    all.add([&] { round.write([&](db::Tx& tx) { previews::end(tx, id); }); });
  all.rethrow();
}

namespace {

// Gives the questions of a round to the threads that ask them. Thread-safe.
class Questions {
 public:
  explicit Questions(std::span<const pushes::Question> all) : answers_(all.size()) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      registries_.push_back(all[i].image.substr(0, all[i].image.find('/')));
      open_.push_back(i);
    }
  }

  // The next question whose registry isn't asked by too many; waits for one. Nothing once there is
  // none left, or the time is over.
  std::optional<std::size_t> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested() && SteadyClock::now() < until_) {
      settle_silent_locked();
      if (open_.empty()) return std::nullopt;
      const auto next = std::ranges::find_if(open_, [&](std::size_t i) {
        return asked_[registries_[i]] < PushLoop::threads_of_registry;
      });
      if (next != open_.end()) {
        const std::size_t taken = *next;
        open_.erase(next);
        ++asked_[registries_[taken]];
        return taken;
      }
      changed_.wait_until(lock, until_);
    }
    return std::nullopt;
  }

  void put(std::size_t i, pushes::Answer answer, bool is_silent) {
    {
      const std::lock_guard lock(mutex_);
      --asked_[registries_[i]];
      if (is_silent) silent_[registries_[i]] = answer.error;
      answers_[i] = std::move(answer);
    }
    changed_.notify_all();
  }

  // Of those questions that have one.
  std::vector<std::optional<pushes::Answer>> answers() && { return std::move(answers_); }

 private:
  using SteadyClock = std::chrono::steady_clock;

  void settle_silent_locked() {
    std::erase_if(open_, [&](std::size_t i) {
      const auto silent = silent_.find(registries_[i]);
      if (silent == silent_.end()) return false;
      answers_[i] = pushes::Answer{.digest = {}, .error = silent->second};
      return true;
    });
  }

  const SteadyClock::time_point until_ = SteadyClock::now() + PushLoop::asking_time;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> registries_;        // of each question
  std::deque<std::size_t> open_;               // the questions that nobody has taken
  std::map<std::string, int> asked_;           // how many threads ask a registry
  std::map<std::string, std::string> silent_;  // registries, with the error of the one question
  std::vector<std::optional<pushes::Answer>> answers_;
};

}  // namespace

// The answers are stored by this thread alone, as they come from several.
void PushLoop::ask(Round& round) {
  const auto due =
      round.read([&](db::Tx& tx) { return pushes::due(tx, questions_of_round, parts_.data_key); });
  if (due.empty()) return;
  Questions all(due);
  {
    std::vector<std::jthread> crew;
    const auto work = [&] {
      while (const auto i = all.take(round.stop_token())) {
        const auto began = std::chrono::steady_clock::now();
        pushes::Answer answer = parts_.ask(due[*i], round.stop_token());
        const bool is_silent =
            !answer.digest && std::chrono::steady_clock::now() - began >= parts_.silent_after;
        all.put(*i, std::move(answer), is_silent);
      }
    };
    for (std::size_t i = 0; i < std::min<std::size_t>(threads, due.size()); ++i)
      crew.emplace_back(work);
  }
  if (round.is_stopping()) return;
  std::vector<pushes::Question> questions;
  std::vector<pushes::Answer> answers;
  auto given = std::move(all).answers();
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (!given[i]) continue;
    questions.push_back(due[i]);
    answers.push_back(*std::move(given[i]));
  }
  if (!questions.empty()) record(round, questions, answers);
}

// The answers are mostly the same as before, so that one transaction takes all of them: each would
// cost a flush of its own, once a minute for each deployment. If it fails, they are taken one by
// one, so that one that can't be stored doesn't hold up the others.
void PushLoop::record(Round& round, std::span<const pushes::Question> questions,
                      std::span<const pushes::Answer> answers) {
  std::vector<std::size_t> rolled_out;
  try {
    round.write([&](db::Tx& tx) {
      rolled_out.clear();  // an earlier run of this transaction may have filled it
      for (std::size_t i = 0; i < questions.size(); ++i)
        if (pushes::record(tx, questions[i], answers[i], parts_.rules)) rolled_out.push_back(i);
    });
  } catch (const std::exception&) {
    if (questions.size() == 1) throw;
    Attempts all;
    for (std::size_t i = 0; i < questions.size(); ++i)
      all.add([&] { record(round, questions.subspan(i, 1), answers.subspan(i, 1)); });
    return all.rethrow();
  }
  for (const pushes::Answer& answer : answers) (answer.digest ? asked_ : unanswered_).Increment();
  for (const std::size_t i : rolled_out) {
    rolled_out_.Increment();
    log::info("a new image was pushed and is rolled out",
              {{"deployment", questions[i].deployment_id}, {"image", questions[i].image}});
  }
}

void PushLoop::judge(Round& round) {
  const auto ids = round.read([](db::Tx& tx) { return pushes::to_judge(tx, judged_in_round); });
  Attempts all;
  for (const std::string& id : ids)
    all.add([&] {
      const auto verdict = round.write(
          [&](db::Tx& tx) { return pushes::judge(tx, id, parts_.rules, parts_.data_key); });
      if (verdict != pushes::Verdict::rolled_back) return;
      rolled_back_.Increment();
      log::warning("a new image failed and was rolled back", {{"deployment", id}});
    });
  all.rethrow();
}

}  // namespace berth::reconcilers
