#include "berthd/isolation_watch.h"

#include "berthd/isolation_surroundings.h"

namespace berth {

IsolationWatch::IsolationWatch(Parts parts)
    : parts_(std::move(parts)),
      is_simulated_(parts_.config.kubernetes == Cluster::simulated),
      known_(read()),
      probe_(parts_of_probe()) {}

reconcilers::IsolationProbe::Parts IsolationWatch::parts_of_probe() {
  return {.database = parts_.database,
          .client = parts_.engine.client(),
          .clock = parts_.clock,
          .settings = parts_.settings,
          .mode = parts_.config.isolation,
          .image = parts_.image,
          .surroundings =
              [this] {
                return isolation_surroundings(parts_.config, parts_.listeners(), parts_.server);
              },
          .leads = [this] { return parts_.engine.is_leading(); },
          .stopping = [this] { return stop_.stop_requested(); },
          .changed = [this] { take_result(); }};
}

Loop IsolationWatch::loop() {
  return {.name = std::string(name),
          .interval = reconcilers::IsolationProbe::interval,
          .round =
              [this](Round& round) {
                stop_ = round.stop_token();
                probe_.run_once();
              },
          .failure = "the isolation probe failed"};
}

std::shared_ptr<const isolation::Known> IsolationWatch::read() const {
  return std::make_shared<const isolation::Known>(parts_.database.read(isolation::known));
}

std::shared_ptr<const isolation::Known> IsolationWatch::known() {
  const std::lock_guard lock(mutex_);
  return known_;
}

void IsolationWatch::take_result() {
  auto known = read();
  {
    const std::lock_guard lock(mutex_);
    known_ = std::move(known);
  }
  if (parts_.config.isolation == isolation::Mode::required) parts_.engine.look_at_all();
}

void IsolationWatch::reread() {
  if (is_simulated_ || parts_.engine.is_leading()) return;
  auto known = read();
  const std::lock_guard lock(mutex_);
  known_ = std::move(known);
}

api::Isolation IsolationWatch::now() {
  api::Isolation now = {
      .mode = parts_.config.isolation, .known = known(), .is_busy = probe_.is_busy()};
  now.state = isolation::state_of(*now.known, parts_.clock.now());
  if (parts_.config.isolation == isolation::Mode::off) now.state = isolation::State::off;
  if (is_simulated_) now.state = isolation::State::simulated;
  return now;
}

api::Isolation IsolationWatch::ask() {
  if (is_simulated_)
    throw Error(Code::invalid_state, "the cluster is simulated: there is nothing to probe");
  if (parts_.config.isolation == isolation::Mode::off)
    throw Error(Code::invalid_state, "the configuration key isolation is off");
  if (!parts_.engine.is_leading())
    throw Error(Code::unavailable, "another berthd works for the cluster; ask that one");
  probe_.ask();
  parts_.wake();
  return now();
}

std::optional<Gauges::Isolation> IsolationWatch::gauge() {
  const api::Isolation isolation = now();
  if (isolation.state == isolation::State::simulated || isolation.state == isolation::State::off)
    return std::nullopt;
  Gauges::Isolation gauge = {.proven = isolation.state == isolation::State::proven};
  if (isolation.known->report) gauge.open_paths = isolation::open_paths(*isolation.known->report);
  return gauge;
}

std::string IsolationWatch::why_new_ones_wait() {
  if (is_simulated_ || parts_.config.isolation != isolation::Mode::required) return "";
  return isolation::why_to_wait(*known(), parts_.clock.now());
}

}  // namespace berth
