#include "reconcilers/builds/build_loop.h"

#include <exception>

#include "controller/base/log.h"
#include "controller/base/source_archive.h"

namespace berth::reconcilers {
namespace {

using builds::Build;
using builds::Outcome;
using builds::Reason;
using builds::Status;

constexpr int most_removed_at_once = 20;
constexpr std::string_view words_of_restart =
    "berthd was restarted while the build ran; build it again, which costs nothing for this one";

Outcome interrupted() {
  return {.status = Status::failed,
          .reason = Reason::interrupted,
          .message = std::string(words_of_restart)};
}

Outcome outcome_of(const embedded::Built& built) {
  using Kind = embedded::Built::Kind;
  if (built.kind == Kind::built)
    return {.status = Status::succeeded, .image = built.image, .image_bytes = built.image_bytes};
  if (built.kind == Kind::stopped) return {.status = Status::cancelled};
  return {.status = Status::failed,
          .reason = parse_enum<Reason>(to_string(built.failure)).value_or(Reason::unavailable),
          .message = built.message};
}

}  // namespace

BuildLoop::BuildLoop(Parts parts, Options options)
    : parts_(std::move(parts)), options_(std::move(options)) {}

BuildLoop::~BuildLoop() {
  for (auto& [id, running] : running_) running->thread.request_stop();
}

Loop BuildLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .lease = std::string(name),
          .round = [this](Round& round) { run_once(round); },
          .at_end = true,
          .failure = "builds couldn't be started or recorded"};
}

void BuildLoop::run_once(Round& round) {
  if (round.is_stopping()) return stop_all(round);
  if (!is_clean_) clean(round);
  record_ended(round);
  for (const std::string& id : round.read(builds::to_cancel))
    if (const auto found = running_.find(id); found != running_.end())
      found->second->thread.request_stop();
  begin(round);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_sweep_) return;
  next_sweep_ = now + options_.sweep;
  remove_unneeded(round);
  sweep_files(round);
  sweep_images(round);
}

// Nothing that is marked as running runs in a process that has just started.
void BuildLoop::clean(Round& round) {
  parts_.builder.clean_up();
  for (const std::string& id : round.read(builds::running)) {
    round.write([&](db::Tx& tx) { builds::finish(tx, id, interrupted(), options_.limits); });
    parts_.files.forget_source(id);
  }
  is_clean_ = true;
}

void BuildLoop::begin(Round& round) {
  const int room = options_.at_once - int(running_.size());
  if (room <= 0) return;
  for (const Build& build : round.read([&](db::Tx& tx) { return builds::next(tx, room); }))
    if (round.write([&](db::Tx& tx) { return builds::start(tx, build.id); })) start(build);
}

void BuildLoop::start(const Build& build) {
  log::info("a build begins", {{"build", build.id}, {"app", build.app_id}, {"name", build.name}});
  auto running = std::make_unique<Running>();
  Running* const place = running.get();
  running_[build.id] = std::move(running);
  place->thread = std::jthread([this, place, build](const std::stop_token& stop) {
    Outcome outcome = this->build(build, stop);
    {
      const std::scoped_lock lock(mutex_);
      place->outcome = std::move(outcome);
    }
    parts_.wake();
  });
}

embedded::BuildOrder BuildLoop::order_of(const Build& build) const {
  return {.id = build.id,
          .source = parts_.files.source(build.id),
          .repository = builds::repository(build.app_id, build.name),
          .limits = {.time = options_.limits.time,
                     .cpu_millicores = options_.cpu_millicores,
                     .memory_bytes = options_.memory_bytes,
                     .image_bytes = options_.image_bytes},
          .registries = parts_.registries};
}

// Runs on the build's thread.
Outcome BuildLoop::build(const Build& build, const std::stop_token& stop) {
  const auto log = parts_.files.open_log(build.id);
  Outcome outcome;
  try {
    outcome = outcome_of(parts_.builder.build(
        order_of(build), [&](std::string_view piece) { log->write(piece); }, stop));
  } catch (const source::BadArchive& bad) {
    outcome = {
        .status = Status::failed, .reason = Reason::containerfile_wrong, .message = bad.what()};
  } catch (const std::exception& failure) {
    log::error("a build failed by a fault of the builder",
               {{"build", build.id}, {"error", failure.what()}});
    outcome = {.status = Status::failed,
               .reason = Reason::unavailable,
               .message =
                   "the builder of this berthd has a fault; its log has an entry with the id "
                   "of the build"};
  }
  if (outcome.status == Status::failed) log->write("error: " + outcome.message + "\n");
  if (outcome.status == Status::cancelled) log->write("cancelled\n");
  outcome.log_bytes = std::int64_t(log->bytes());
  return outcome;
}

void BuildLoop::record_ended(Round& round) {
  for (auto each = running_.begin(); each != running_.end();) {
    std::optional<Outcome> outcome;
    {
      const std::scoped_lock lock(mutex_);
      outcome = each->second->outcome;
    }
    if (!outcome) {
      ++each;
      continue;
    }
    const std::string& id = each->first;
    round.write([&](db::Tx& tx) { builds::finish(tx, id, *outcome, options_.limits); });
    log::info("a build has ended", {{"build", id},
                                    {"status", to_string(outcome->status)},
                                    {"reason", to_string(outcome->reason).value_or("")}});
    parts_.files.forget_source(id);
    each = running_.erase(each);
  }
}

// Runs when berthd stops: what doesn't finish now is interrupted, which its owner is told.
void BuildLoop::stop_all(Round& round) {
  record_ended(round);
  for (auto& [id, running] : running_) running->thread.request_stop();
  for (auto& [id, running] : running_) {
    running->thread.join();
    Outcome outcome = *running->outcome;
    if (outcome.status == Status::cancelled) {
      const std::int64_t log_bytes = outcome.log_bytes;
      outcome = interrupted();
      outcome.log_bytes = log_bytes;
    }
    const std::string of = id;
    round.write([&](db::Tx& tx) { builds::finish(tx, of, outcome, options_.limits); });
    parts_.files.forget_source(id);
  }
  running_.clear();
}

void BuildLoop::remove_unneeded(Round& round) {
  const auto unneeded =
      round.read([](db::Tx& tx) { return builds::unneeded_images(tx, most_removed_at_once); });
  for (const Build& build : unneeded) {
    if (!round.write([&](db::Tx& tx) { return builds::give_up_image(tx, build.id); })) continue;
    parts_.builder.remove(build.image.value());
    log::info("an image that no deployment needs was removed", {{"image", *build.image}});
  }
}

// Removes the folders of builds that don't exist. A source is stored before its row, so a young
// folder waits.
void BuildLoop::sweep_files(Round& round) {
  static constexpr std::chrono::minutes youngest{10};
  for (const std::string& id : parts_.files.ids()) {
    std::error_code unknown;
    const auto changed =
        std::filesystem::last_write_time(parts_.files.source(id).parent_path(), unknown);
    if (unknown || std::filesystem::file_time_type::clock::now() - changed < youngest) continue;
    const auto row = round.read([&](db::Tx& tx) { return builds::find(tx, id); });
    if (!row)
      parts_.files.forget(id);
    else if (builds::is_over(row->status))
      parts_.files.forget_source(id);
  }
}

// Removes images that a process which was killed has made without recording it.
void BuildLoop::sweep_images(Round& round) {
  if (!running_.empty()) return;  // its image may be there before it is recorded
  for (const std::string& image : parts_.builder.images())
    if (!round.read([&](db::Tx& tx) { return builds::is_kept(tx, image); }))
      parts_.builder.remove(image);
}

}  // namespace berth::reconcilers
