#include "reconcilers/cluster/container_logs.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/log_lines.h"
#include "reconcilers/cluster/pod_trouble.h"
#include "reconcilers/kube/answers.h"

namespace berth::reconcilers {
namespace {

using container_logs::Batch;
using container_logs::Follow;
using container_logs::Line;
using container_logs::Run;
using container_logs::Wanted;

// How much is read ahead of a slow caller; beyond this the kubelet has to wait.
constexpr std::size_t max_queued_bytes = 256 * 1024;
constexpr std::size_t max_batch = 500;
// The pause before looking again at a pod whose log has ended, and before reading it again.
constexpr std::chrono::milliseconds look_interval{500};

std::int64_t made_at(const Object& pod) {
  const auto made = instant_at(pod, {"metadata", "creationTimestamp"});
  return made ? std::chrono::floor<std::chrono::seconds>(*made).time_since_epoch().count() : 0;
}

bool is_running(const Object& pod) {
  return !field(container_status(pod), {"state", "running"}).is_null();
}
std::int64_t restarts_of(const Object& pod) {
  return number_at(container_status(pod), {"restartCount"});
}
// Whether the pod's container ran at least once, so that it has a log.
bool has_log(const Object& pod) {
  return is_running(pod) || restarts_of(pod) > 0 ||
         !field(container_status(pod), {"state", "terminated"}).is_null() ||
         !field(container_status(pod), {"lastState", "terminated"}).is_null();
}
// A log is read once more whenever this text changes.
std::string state_of_run(const Object& pod) {
  const Object& status = container_status(pod);
  return uid_of(pod) + " " + text_at(status, {"containerID"}) + " " +
         std::to_string(restarts_of(pod)) + (is_running(pod) ? " runs" : " ended");
}
bool has_previous(const Object& pod) {
  return !field(container_status(pod), {"lastState", "terminated"}).is_null();
}

// The deployment's pods, or the one that is wanted, or those of the run; oldest first.
std::vector<ObjectPtr> pods_of(const Cache& cache, const Wanted& wanted) {
  std::vector<ObjectPtr> pods = cache.store(kube::pods).of_deployment(wanted.deployment_id);
  std::erase_if(pods, [&](const ObjectPtr& pod) {
    return label_of(*pod, manifests::run_label) != wanted.run_id.value_or("");
  });
  if (wanted.instance)
    std::erase_if(pods, [&](const ObjectPtr& pod) { return name_of(*pod) != *wanted.instance; });
  if (wanted.process)
    std::erase_if(
        pods, [&](const ObjectPtr& pod) { return manifests::process_of(*pod) != *wanted.process; });
  std::ranges::sort(pods, {},
                    [](const ObjectPtr& pod) { return std::pair(made_at(*pod), name_of(*pod)); });
  return pods;
}

// Says why there is no log, with the reason that the kubelet reports, if any.
std::string waiting_for(const std::vector<ObjectPtr>& pods, bool of_run) {
  if (pods.empty()) return of_run ? "the run has no container" : "the deployment has no container";
  const Object& status = container_status(*pods.back());
  const std::string reason = text_at(status, {"state", "waiting", "reason"});
  return "the container hasn't started yet" + (reason.empty() ? "" : ": " + reason);
}

ObjectPtr newest(const std::vector<ObjectPtr>& pods, bool (*holds)(const Object&)) {
  for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod)
    if (holds(**pod)) return *pod;
  return nullptr;
}

// Lines on their way from the thread that reads them to the thread that sends them.
class Queue {
 public:
  // `on_news` is called when there is something to take again.
  explicit Queue(std::function<void()> on_news) : on_news_(std::move(on_news)) {}

  // Waits until there is room. Returns false if it was stopped instead.
  bool put(Line line, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return bytes_ < max_queued_bytes; })) return false;
    bytes_ += line.text.size() + line.id.size();
    lines_.push_back(std::move(line));
    if (lines_.size() == 1) tell();
    return true;
  }
  void end(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    failure_ = std::move(failure);
    tell();
  }
  void report(std::string problem) {
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
    tell();
  }
  Batch take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience,
                      [&] { return ended_ || !lines_.empty() || problem_.has_value(); });
    Batch batch;
    batch.problem = std::exchange(problem_, std::nullopt);
    while (!lines_.empty() && batch.lines.size() < max_batch) {
      bytes_ -= lines_.front().text.size() + lines_.front().id.size();
      batch.lines.push_back(std::move(lines_.front()));
      lines_.pop_front();
    }
    if (batch.lines.empty() && ended_) {
      if (failure_) std::rethrow_exception(failure_);
      batch.ended = true;
    }
    changed_.notify_all();
    return batch;
  }
  void wait(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [] { return false; });
  }

 private:
  // The caller holds the lock.
  void tell() {
    changed_.notify_all();
    if (on_news_) on_news_();
  }

  const std::function<void()> on_news_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Line> lines_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::optional<std::string> problem_;
};

// Messages of an API server that couldn't reach the kubelet of a pod's node, or got no answer from
// it.
bool is_of_kubelet(std::string_view words) {
  constexpr std::array signs = {"dial tcp", "containerLogs", "proxy error", "x509:", ":10250"};
  return std::ranges::any_of(signs, [&](const char* sign) { return words.contains(sign); });
}

// Says who failed to return a pod's log. Leaves out the addresses of nodes that the API server's
// message may have.
std::string who_failed(const Object& pod, const kube::ApiError& error) {
  if (error.unreachable()) return "the Kubernetes API server doesn't answer";
  const std::string status = std::to_string(error.status);
  const std::string node = text_at(pod, {"spec", "nodeName"});
  if (is_of_kubelet(error.what()))
    return "the kubelet of the node " + node + " doesn't give the log to the API server (" +
           status + ")";
  return "the Kubernetes API server doesn't give the log (" + status + "): " + error.what();
}

// Reads one deployment's log on its own thread.
class LogReader {
 public:
  LogReader(kube::Client& client, const Cache& cache, Wanted wanted,
            std::shared_ptr<Shares> readers, const Claimant& claimant)
      : client_(client),
        cache_(cache),
        wanted_(std::move(wanted)),
        readers_(std::move(readers)),
        claim_(*readers_, claimant),
        cursor_(begin()),
        queue_(wanted_.on_news) {
    if (claim_.take() != Shares::Taken::yes)
      throw Error(Code::unavailable, "too many logs are being read at the moment; try again later");
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~LogReader() {
    thread_.request_stop();
    thread_.join();
  }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  Batch next(std::chrono::milliseconds patience) { return queue_.take(patience); }
  // Begins to end; the destructor waits for it.
  void stop() { thread_.request_stop(); }

 private:
  enum class Read { done, again };

  LogCursor begin();
  void run(const std::stop_token& stop);
  void follow(const std::stop_token& stop);
  void read_pod(const Object& pod, const std::stop_token& stop);
  Read read(const Object& pod, Run run, const std::stop_token& stop);
  kube::LogOptions options(Run run) const;
  bool settle(const Object& pod, Run run, const kube::ApiError& error);
  void take_words(const Object& pod, const std::string& words);
  void note_problem(const std::string& problem);
  void note_success();
  void move_to(const Object& pod);
  ObjectPtr next_pod(const std::vector<ObjectPtr>& pods) const;

  kube::Client& client_;
  const Cache& cache_;
  const Wanted wanted_;
  const std::shared_ptr<Shares> readers_;
  Shares::Claim claim_;
  ObjectPtr pod_;              // the pod that is read first
  std::string read_state_;     // what state_of_run() said when the pod's log was last read
  std::int64_t restarts_ = 0;  // the pod's number of restarts at that time
  // Nothing has been read yet, and the caller gave no position to continue from.
  bool fresh_ = true;
  // Since when a log that is followed couldn't be read, and whether the follower knows.
  std::optional<std::chrono::steady_clock::time_point> failing_since_;
  bool has_told_ = false;
  LogCursor cursor_;
  Queue queue_;
  std::jthread thread_;
};

// Where to begin: after the position that the caller gave, or else with the newest container that
// has a log.
LogCursor LogReader::begin() {
  const auto pods = pods_of(cache_, wanted_);
  if (wanted_.instance && pods.empty())
    throw Error(Code::invalid_state, "the deployment doesn't have this container any more");
  LogPosition position;
  if (wanted_.after) {
    const auto given = LogPosition::parse(*wanted_.after);
    if (!given)
      throw Error(Code::malformed_request, "Last-Event-ID isn't the id of a line of this log");
    position = *given;
    fresh_ = false;
    const auto same =
        std::ranges::find(pods, position.pod, [](const auto& p) { return name_of(*p); });
    if (same != pods.end()) pod_ = *same;
    // The present run's log goes on with another container, but a previous run has none.
    if (!pod_ && wanted_.run == Run::previous)
      throw Error(Code::invalid_state, "the deployment doesn't have this container any more");
  } else {
    pod_ = newest(pods, wanted_.run == Run::previous ? has_previous : has_log);
    if (!pod_)
      throw Error(Code::invalid_state, wanted_.run == Run::previous && newest(pods, has_log)
                                           ? "the container has no previous run"
                                           : waiting_for(pods, wanted_.run_id.has_value()));
    position = {.at = wanted_.since.value_or(0),
                .of_that_time = 0,
                .pod = name_of(*pod_),
                .pod_made = made_at(*pod_)};
  }
  return LogCursor(position);
}

void LogReader::move_to(const Object& pod) {
  const LogPosition& before = cursor_.position();
  const bool older = made_at(pod) < before.pod_made || before.pod.empty();
  // A pod that is older than the previous one ran beside it, so only what it wrote later counts.
  cursor_ = LogCursor({.at = older ? before.at : 0,
                       .of_that_time = older ? INT32_MAX : 0,
                       .pod = name_of(pod),
                       .pod_made = made_at(pod)});
  read_state_.clear();
  fresh_ = false;
}

kube::LogOptions LogReader::options(Run run) const {
  kube::LogOptions options;
  options.previous = run == Run::previous;
  options.follow = run == Run::current && wanted_.follow == Follow::yes;
  const std::int64_t since = cursor_.position().at;
  if (fresh_) options.tail_lines = wanted_.tail;
  if (since > 0) options.since_time = nanosecond_text(since);
  return options;
}

// Returns whether the error may pass, so that reading is tried again. Throws Error, which names who
// failed, if it won't pass or if nobody waits for that.
bool LogReader::settle(const Object& pod, Run run, const kube::ApiError& error) {
  const bool follows = wanted_.follow == Follow::yes;
  const bool passes = error.unreachable() || error.status == 429 || error.status >= 500;
  const std::string who = who_failed(pod, error);
  if (passes && follows) {
    note_problem(who);
    return true;
  }
  // 404 means that the pod is gone; 400, that its container hasn't started or has no previous run.
  // A previous run that is read besides the present one may be gone.
  const bool is_gone = error.status == 404 || error.status == 400;
  if (is_gone && (follows || run != wanted_.run)) return false;
  if (is_gone) throw Error(Code::invalid_state, error.what());
  log::warning("a container's log can't be read", {{"deployment", wanted_.deployment_id},
                                                   {"pod", name_of(pod)},
                                                   {"status", error.status},
                                                   {"error", error.what()}});
  throw Error(Code::unavailable, who);
}

// If the kubelet can't open the log, it answers with a message instead of lines with their times.
void LogReader::take_words(const Object& pod, const std::string& words) {
  const std::string problem = "the kubelet of the node " + text_at(pod, {"spec", "nodeName"}) +
                              " can't give the log: " + words;
  if (wanted_.follow == Follow::yes)
    note_problem(problem);
  else
    throw Error(Code::unavailable, problem);
}

// Reports a problem once it has lasted for a while, and only once.
void LogReader::note_problem(const std::string& problem) {
  const auto now = std::chrono::steady_clock::now();
  if (!failing_since_) failing_since_ = now;
  if (has_told_ || now - *failing_since_ < container_logs::problem_after) return;
  has_told_ = true;
  queue_.report(problem);
}

void LogReader::note_success() {
  failing_since_.reset();
  has_told_ = false;
}

LogReader::Read LogReader::read(const Object& pod, Run run, const std::stop_token& stop) {
  LogLines lines(container_logs::max_line_bytes);
  cursor_.rewind();
  std::string words;  // the first line without a time
  const auto on_line = [&](std::string_view text) {
    const auto line = parse_stamped(text);
    if (!line && words.empty()) words = as_utf8(text);
    if (!line || !cursor_.passes(line->at)) return;
    fresh_ = false;
    note_success();
    queue_.put({.id = cursor_.position().text(), .text = as_utf8(line->text)}, stop);
  };
  try {
    client_.stream_logs(
        namespace_of(pod), name_of(pod), options(run),
        [&](std::string_view piece) { lines.feed(piece, on_line); }, stop);
    lines.finish(on_line);
  } catch (const kube::ApiError& error) {
    // What was received before the break is an incomplete line, or is read again.
    if (error.reason == kube::reason_of_silence && options(run).follow) {
      note_success();  // the container writes nothing
      return Read::again;
    }
    if (settle(pod, run, error)) return Read::again;
  }
  if (words.empty() || stop.stop_requested()) {
    note_success();
    return Read::done;
  }
  take_words(pod, words);
  return Read::again;
}

ObjectPtr LogReader::next_pod(const std::vector<ObjectPtr>& pods) const {
  const LogPosition& here = cursor_.position();
  for (const ObjectPtr& pod : pods) {
    const bool later = std::pair(made_at(*pod), name_of(*pod)) > std::pair(here.pod_made, here.pod);
    if (later && has_log(*pod)) return pod;
  }
  const ObjectPtr other = newest(pods, has_log);
  return other && name_of(*other) != here.pod && !is_being_deleted(*other) ? other : nullptr;
}

// Reads what the pod's log has after the cursor, starting with the previous run if the container
// may have restarted.
void LogReader::read_pod(const Object& pod, const std::stop_token& stop) {
  const std::string state = state_of_run(pod);
  const bool may_have_restarted = !fresh_ && state != read_state_ && has_previous(pod);
  const Read before = may_have_restarted ? read(pod, Run::previous, stop) : Read::done;
  // If the container has restarted, the caller wants all that the new run writes, so the limit on
  // the number of lines no longer applies.
  if (!read_state_.empty() && restarts_of(pod) != restarts_) fresh_ = false;
  restarts_ = restarts_of(pod);
  if (read(pod, Run::current, stop) == Read::done && before == Read::done) read_state_ = state;
}

void LogReader::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto pods = pods_of(cache_, wanted_);
    const auto same = std::ranges::find(pods, cursor_.position().pod,
                                        [](const auto& pod) { return name_of(*pod); });
    const Object* here = same == pods.end() ? nullptr : same->get();
    const bool unread =
        here && has_log(*here) && (is_running(*here) || state_of_run(*here) != read_state_);
    const bool over = !here || (!is_running(*here) && (is_being_deleted(*here) || is_over(*here)));
    if (unread) {
      read_pod(*here, stop);
    } else if (over) {
      if (const ObjectPtr next = next_pod(pods)) {
        move_to(*next);
        continue;
      }
      if (wanted_.instance || wanted_.run_id) return;
    }
    queue_.wait(look_interval, stop);
  }
}

void LogReader::run(const std::stop_token& stop) {
  std::exception_ptr failure;
  try {
    if (wanted_.follow == Follow::yes) {
      follow(stop);
    } else if (wanted_.run == Run::previous) {
      read(*pod_, Run::previous, stop);
    } else {
      if (!pod_) pod_ = next_pod(pods_of(cache_, wanted_));
      if (pod_ && name_of(*pod_) != cursor_.position().pod) move_to(*pod_);
      if (pod_) read_pod(*pod_, stop);
    }
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  queue_.end(std::move(failure));
}

// How many containers the deployment, or the process that is wanted, is to have now.
std::int64_t containers_of(const Cache& cache, const Wanted& wanted) {
  std::int64_t sum = 0;
  for (const ObjectPtr& deployment :
       cache.store(kube::deployments).of_deployment(wanted.deployment_id))
    if (!wanted.process || manifests::process_of(*deployment) == *wanted.process)
      sum += number_at(*deployment, {"spec", "replicas"});
  return sum;
}

// Reads the logs of several containers, each by a reader of its own. A log that isn't followed is
// in the order of its times; of one that is, what arrives together. Each container's lines are in
// order and come once. A log that is resumed
// after a line goes on with the lines of that container, and with those of the others that are
// younger; so of the others a line that was on its way at that moment may be missing.
class MergedReader {
 public:
  MergedReader(kube::Client& client, const Cache& cache, Wanted wanted,
               std::shared_ptr<Shares> readers)
      : client_(client),
        cache_(cache),
        wanted_(std::move(wanted)),
        readers_(std::move(readers)),
        claimant_(Claimant::of_thread()) {
    if (wanted_.after) {
      resumed_ = LogPosition::parse(*wanted_.after);
      if (!resumed_)
        throw Error(Code::malformed_request, "Last-Event-ID isn't the id of a line of this log");
    }
    const auto pods = pods_of(cache_, wanted_);
    const auto count = std::ranges::count_if(pods, [](const auto& pod) { return has_log(*pod); });
    if (count == 0) throw Error(Code::invalid_state, waiting_for(pods, false));
    // Together they begin with no more lines than one container would.
    first_tail_ = wanted_.tail == 0 ? 0 : std::max(1, wanted_.tail / int(count));
    add_members(Begins::now);
  }
  ~MergedReader() {
    for (auto& [pod, member] : members_) member.reader->stop();
  }
  MergedReader(const MergedReader&) = delete;
  MergedReader& operator=(const MergedReader&) = delete;

  Batch next(std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    if (wanted_.follow == Follow::no) return in_order(until);
    while (true) {
      if (std::chrono::steady_clock::now() >= look_at_) add_members(Begins::later);
      Batch batch = take();
      if (!batch.lines.empty() || batch.problem || std::chrono::steady_clock::now() >= until)
        return batch;
      std::this_thread::sleep_for(merge_pause);
    }
  }

 private:
  // The pause in which nothing was there, of a caller who waits.
  static constexpr std::chrono::milliseconds merge_pause{20};
  enum class Begins { now, later };
  struct Member {
    std::unique_ptr<LogReader> reader;
    std::deque<Line> lines = {};  // of a log that isn't followed: those that wait for others' turn
    bool ended = false;
  };

  Wanted wanted_of(const std::string& pod, Begins begins) const {
    Wanted one = wanted_;
    one.instance = pod;
    one.tail = begins == Begins::later ? container_logs::max_tail : first_tail_;
    if (!resumed_) return one;
    one.tail = container_logs::max_tail;
    if (resumed_->pod == pod) return one;
    one.after.reset();
    one.since = resumed_->at + 1;
    return one;
  }

  // Begins to read the containers that aren't read yet, the newest first. Throws if not even one
  // can be read.
  void add_members(Begins begins) {
    look_at_ = std::chrono::steady_clock::now() + look_interval;
    auto pods = pods_of(cache_, wanted_);
    std::erase_if(pods, [](const ObjectPtr& pod) { return !has_log(*pod) || is_over(*pod); });
    std::set<std::string> there;
    for (const ObjectPtr& pod : pods) there.insert(name_of(*pod));
    std::erase_if(done_, [&](const std::string& pod) { return !there.contains(pod); });
    std::ranges::reverse(pods);
    bool left_out = false;
    for (const ObjectPtr& pod : pods) {
      const std::string name = name_of(*pod);
      if (members_.contains(name) || done_.contains(name)) continue;
      if (members_.size() >= ContainerLogs::max_merged) {
        left_out = true;
        break;
      }
      try {
        members_[name].reader = std::make_unique<LogReader>(
            client_, cache_, wanted_of(name, begins), readers_, claimant_);
      } catch (const Error& error) {
        members_.erase(name);
        if (members_.empty() && begins == Begins::now) throw;
        left_out = left_out || error.code == Code::unavailable;
      }
    }
    if (left_out && !has_told_) problem_ = "not all containers are read; choose one of them";
    has_told_ = has_told_ || left_out;
  }

  // Of each container the next lines have to be there before it is known which comes first.
  Batch in_order(std::chrono::steady_clock::time_point until) {
    Batch all;
    all.problem = std::exchange(problem_, std::nullopt);
    while (all.lines.size() < max_batch) {
      Member* first = nullptr;
      for (auto& [pod, member] : members_) {
        if (!has_lines(member, until)) return all;
        if (member.lines.empty()) continue;
        if (!first || time_of(member.lines.front()) < time_of(first->lines.front()))
          first = &member;
      }
      all.ended = first == nullptr && all.lines.empty();
      if (first == nullptr) return all;
      all.lines.push_back(std::move(first->lines.front()));
      first->lines.pop_front();
    }
    return all;
  }

  // Returns false if its next lines haven't come by then. Throws Error if they can't be read.
  static bool has_lines(Member& member, std::chrono::steady_clock::time_point until) {
    if (!member.lines.empty() || member.ended) return true;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    try {
      Batch batch = member.reader->next(std::max(left, std::chrono::milliseconds(0)));
      std::ranges::move(batch.lines, std::back_inserter(member.lines));
      member.ended = batch.ended;
    } catch (const Error& error) {
      if (error.code != Code::invalid_state) throw;
      member.ended = true;  // the container is gone
    }
    return !member.lines.empty() || member.ended;
  }

  // An id begins with the time, of a fixed length.
  static std::string_view time_of(const Line& line) {
    return std::string_view(line.id).substr(0, line.id.find('/'));
  }

  Batch take() {
    Batch all;
    all.problem = std::exchange(problem_, std::nullopt);
    for (auto member = members_.begin(); member != members_.end();) {
      Batch one;
      try {
        one = member->second.reader->next(std::chrono::milliseconds(0));
      } catch (const Error& error) {
        one.ended = true;
        one.problem = error.what();
      }
      std::ranges::move(one.lines, std::back_inserter(all.lines));
      if (one.problem) all.problem = std::move(one.problem);
      if (one.ended) done_.insert(member->first);
      member = one.ended ? members_.erase(member) : std::next(member);
    }
    std::ranges::stable_sort(all.lines, {}, time_of);
    return all;
  }

  kube::Client& client_;
  const Cache& cache_;
  const Wanted wanted_;
  const std::shared_ptr<Shares> readers_;
  const Claimant claimant_;
  std::optional<LogPosition> resumed_;
  int first_tail_ = 0;
  std::map<std::string, Member> members_;  // by pod
  std::set<std::string> done_;             // pods that are there and have been read to their ends
  std::chrono::steady_clock::time_point look_at_;
  std::optional<std::string> problem_;
  bool has_told_ = false;
};

}  // namespace

container_logs::Reader ContainerLogs::open(const Wanted& wanted) {
  if (!cache_.synced())
    throw Error(Code::unavailable, "the cluster hasn't answered yet; try again later");
  if (wanted.run == Run::current && !wanted.instance && !wanted.run_id &&
      containers_of(cache_, wanted) > 1) {
    const auto merged = std::make_shared<MergedReader>(client_, cache_, wanted, readers_);
    return [merged](std::chrono::milliseconds patience) { return merged->next(patience); };
  }
  const auto reader =
      std::make_shared<LogReader>(client_, cache_, wanted, readers_, Claimant::of_thread());
  return [reader](std::chrono::milliseconds patience) { return reader->next(patience); };
}

}  // namespace berth::reconcilers
