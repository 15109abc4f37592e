// Learning modules: the progress of users, and the reward for completing one.
#include "api/resources/learning/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "controller/base/text.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

using learning::Module;
using learning::Progress;

json encode(const Progress& progress) {
  return {{"status", progress.status()},
          {"module_number", progress.module.number},
          {"completed", progress.started_at ? json(progress.completed) : json(nullptr)},
          {"total", progress.module.total},
          {"repeat_eligible_at", or_null(progress.repeat_eligible_at)},
          {"title", progress.module.title},
          {"description", progress.module.description},
          {"open", progress.open},
          {"min_seconds", progress.module.min_seconds},
          {"counts_from", or_null(progress.counts_from())},
          {"points", progress.module.points}};
}

json envelope(const Progress& progress) {
  json body = encode(progress);
  body["module"] = encode(progress);
  return body;
}

json encode_module(const Module& module) {
  return {{"id", module.id},         {"module_number", module.number},
          {"title", module.title},   {"description", module.description},
          {"total", module.total},   {"min_seconds", module.min_seconds},
          {"points", module.points}, {"repeat_after_seconds", or_null(module.repeat_after_seconds)},
          {"active", module.active}};
}

Reply encode(const learning::Path& path) {
  return {.body = {{"status", path.status}, {"learning_path", path.name}}};
}

std::int64_t number_in(const Call& call) {
  const auto number = parse_number<std::int64_t>(call.id("n"));
  if (!number) throw Error(Code::module_not_found, "there is no such module");
  return *number;
}

void decode_into(Module& module, const json& body) {
  set(module.number, body, "module_number");
  set(module.title, body, "title");
  set(module.description, body, "description");
  set(module.total, body, "total");
  set(module.min_seconds, body, "min_seconds");
  set(module.points, body, "points");
  set(module.repeat_after_seconds, body, "repeat_after_seconds");
  set(module.active, body, "active");
}

}  // namespace

Reply list_modules(db::Tx& tx, const Call& call, const Services&) {
  const auto page = learning::list(tx, call.user->id, call.page());
  return {.body = encode_page("modules", page, [](const Progress& each) { return encode(each); })};
}

Reply get_module(db::Tx& tx, const Call& call, const Services&) {
  return {.body = envelope(learning::find(tx, call.user->id, number_in(call)))};
}

Reply report_progress(db::Tx& tx, const Call& call, const Services& services) {
  const learning::Learner learner = {
      .user_id = call.user->id,
      .app_id = call.play ? std::optional(call.play->app_id) : std::nullopt};
  const learning::Report report = learning::report(tx, services.reward_rules, learner,
                                                   number_in(call), call.body.at("completed"));
  if (report.counted == learning::Counted::too_early) {
    // The transaction is committed although the report is refused, because it has begun the round.
    Reply reply = {.body = json::object()};
    reply.refusal = Error(Code::invalid_state,
                          "no step counts before " + to_iso8601(*report.progress.counts_from()));
    return reply;
  }
  using rewards::Refusal;
  const Refusal refusal = report.reward.refusal;
  const bool unpaid = refusal != Refusal::none && refusal != Refusal::nothing_due;
  json body = envelope(report.progress);
  body["points_awarded"] = report.reward.points;
  body["unpaid_reason"] = unpaid ? json(refusal) : json(nullptr);
  return {.body = std::move(body)};
}

Reply get_learning_path(db::Tx& tx, const Call& call, const Services&) {
  return encode(learning::path(tx, call.user->id));
}

Reply choose_learning_path(db::Tx& tx, const Call& call, const Services&) {
  return encode(learning::choose_path(tx, call.user->id, call.body.at("learning_path")));
}

Reply internal_modules(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("modules", learning::list_all(tx, call.page()), encode_module)};
}

Reply create_module(db::Tx& tx, const Call& call, const Services&) {
  Module wanted;
  decode_into(wanted, call.body);
  const Module module = learning::create(tx, wanted);
  audit::record(tx, call.admin, "learning_module.create", module.id, call.body.dump());
  return {.status = 201, .body = {{"module", encode_module(module)}}};
}

Reply change_module(db::Tx& tx, const Call& call, const Services&) {
  Module module = learning::get(tx, call.id());
  decode_into(module, call.body);
  const Module changed = learning::update(tx, module);
  audit::record(tx, call.admin, "learning_module.change", module.id, call.body.dump());
  return {.body = {{"module", encode_module(changed)}}};
}

}  // namespace berth::api
