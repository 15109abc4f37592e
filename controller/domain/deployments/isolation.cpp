#include "controller/domain/deployments/isolation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/text.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/meta.h"

namespace berth::isolation {
namespace {

using nlohmann::json;

constexpr std::string_view meta_key = "isolation";
constexpr std::string_view actor = "berthd";
constexpr std::string_view action = "isolation.probe";
constexpr std::string_view target = "cluster";
// The paths that an entry of the audit log names; a cluster without any enforcement has more.
constexpr size_t max_named = 20;

std::string clipped(const std::string& text) { return cut(text, max_text); }

json encode(const Path& path) {
  return {{"from", clipped(path.from)},       {"to", clipped(path.to)},
          {"target", clipped(path.target)},   {"wanted", to_string(path.wanted)},
          {"result", to_string(path.result)}, {"detail", clipped(path.detail)}};
}

Path decode(const json& entry) {
  return {.from = entry.at("from"),
          .to = entry.at("to"),
          .target = entry.at("target"),
          .wanted = parse_enum<Wanted>(entry.at("wanted").get<std::string>()).value(),
          .result = parse_enum<Result>(entry.at("result").get<std::string>()).value(),
          .detail = entry.at("detail")};
}

json encode(const Known& known) {
  json stored = {{"problem", clipped(known.problem)}};
  if (known.problem_at) stored["problem_at"] = to_iso8601(*known.problem_at);
  if (!known.report) return stored;
  json paths = json::array();
  for (const Path& path : known.report->paths) paths.push_back(encode(path));
  stored["report"] = {{"at", to_iso8601(known.report->at)}, {"paths", std::move(paths)}};
  return stored;
}

void put(db::Tx& tx, const Known& known) {
  // Messages of an operating system or an API server may contain any bytes.
  meta::put(tx, meta_key, encode(known).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

bool is_open(const Path& path) {
  return path.wanted == Wanted::shut && path.result == Result::open;
}

bool is_blocked(const Path& path) {
  return path.wanted == Wanted::open && path.result == Result::shut;
}

int open_paths(const Report& report) { return int(std::ranges::count_if(report.paths, is_open)); }

int blocked_paths(const Report& report) {
  return int(std::ranges::count_if(report.paths, is_blocked));
}

Known known(db::Tx& tx) {
  const auto text = meta::find(tx, meta_key);
  if (!text) return {};
  const json stored = json::parse(*text);
  Known known = {.report = {}, .problem = stored.at("problem"), .problem_at = {}};
  if (const auto at = stored.find("problem_at"); at != stored.end())
    known.problem_at = parse_iso8601(at->get<std::string>());
  if (const auto found = stored.find("report"); found != stored.end()) {
    Report report = {.at = parse_iso8601(found->at("at").get<std::string>()).value(), .paths = {}};
    for (const json& entry : found->at("paths")) report.paths.push_back(decode(entry));
    known.report = std::move(report);
  }
  return known;
}

State state_of(const Known& known, Instant now) {
  if (!known.report) return State::unproven;
  if (open_paths(*known.report) > 0) return State::open;
  return now - known.report->at < proof_lasts ? State::proven : State::unproven;
}

void store(db::Tx& tx, const Report& report) {
  const int open = open_paths(report);
  put(tx, {.report = report, .problem = {}, .problem_at = {}});
  json named = json::array();
  for (const Path& path : report.paths)
    if (is_open(path) && named.size() < max_named)
      named.push_back(clipped(path.from + " → " + path.to + " (" + path.target + ")"));
  const json details = {{"state", to_string(open > 0 ? State::open : State::proven)},
                        {"tried", report.paths.size()},
                        {"open", open},
                        {"blocked", blocked_paths(report)},
                        {"paths", std::move(named)}};
  audit::record(tx, actor, action, target,
                details.dump(-1, ' ', false, json::error_handler_t::replace));
}

void store_problem(db::Tx& tx, const std::string& problem) {
  Known now = known(tx);
  const bool is_new = now.problem != clipped(problem);
  now.problem = clipped(problem);
  now.problem_at = tx.now();
  put(tx, now);
  if (!is_new) return;
  const json details = {{"state", to_string(State::unproven)}, {"problem", now.problem}};
  audit::record(tx, actor, action, target,
                details.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string why_to_wait(const Known& known, Instant now) {
  switch (state_of(known, now)) {
    case State::open:
      return "the platform takes no new deployments while its isolation probe finds an open path";
    case State::unproven:
      return "the platform takes no new deployments until its isolation probe has found every path "
             "shut";
    default:
      return "";
  }
}

}  // namespace berth::isolation
