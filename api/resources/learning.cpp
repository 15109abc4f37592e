// Learning modules: the progress of users, and the reward for completing one.
#include "controller/domain/items/learning.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/base/text.h"
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
  const learning::Report report = learning::report(tx, services.rules.rewards, learner,
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

constexpr Placeholder module_in_path = {"ModuleId", "The id of the module.",
                                        "01936f5e-7c1a-7000-8000-00000000000d"};
constexpr Placeholder module_number_in_path = {"ModuleNumber", "The number of the module.", "1",
                                               Kind::integer};

constexpr Route rows[] = {
    {.request = "GET /api/learning/modules",
     .name = "listModules",
     .tag = "Learning",
     .summary = "List the learning modules with the user's progress",
     .text = "Lists the modules in order, with the user's progress and what completing them pays.",
     .guards = {jwt_or_play_session(), account_reads},
     .paged = true,
     .answer = {200, "ModuleStatusList"},
     .served_by = {.page = "/console/extras"},
     .run = ReadHandler{list_modules}},
    {.request = "GET /api/learning/modules/{n}",
     .name = "getModule",
     .tag = "Learning",
     .summary = "Show a learning module by its number",
     .text = "Returns one module with the user's progress.",
     .guards = {jwt_or_play_session(), account_reads},
     .in_path = {&module_number_in_path},
     .answer = {200, "ModuleEnvelope"},
     .errors = {Code::module_not_found},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{get_module}},
    {.request = "POST /api/learning/modules/{n}/progress",
     .name = "reportProgress",
     .tag = "Learning",
     .summary = "Report the completed steps; the first report begins a round, the last step pays "
                "the reward",
     .text = "Records how many steps of the round are done; steps count from counts_from on. The "
             "last one completes the module, and the treasury pays its points, within the limits "
             "of rewards.",
     .guards = {jwt_or_play_session(),
                account_reads},  // a step is reported about as often as something is read
     .stores = Stores::account,
     .in_path = {&module_number_in_path},
     .body = {"ModuleProgressRequest"},
     .answer = {200, "ModuleProgress"},
     .errors = {Code::module_not_found, Code::invalid_state},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{report_progress}},
    {.request = "GET /api/learning/path",
     .name = "getLearningPath",
     .tag = "Learning",
     .summary = "Show the user's learning path",
     .text = "Returns the path that the user has chosen and how far they have come.",
     .guards = {jwt_or_play_session(), account_reads},
     .answer = {200, "LearningPathResponse"},
     .served_by = {.page = "/console/extras"},
     .run = ReadHandler{get_learning_path}},
    {.request = "PUT /api/learning/path",
     .name = "chooseLearningPath",
     .tag = "Learning",
     .summary = "Choose a learning path",
     .text = "Stores the name of the path for apps to read. Progress stays as it is.",
     .guards = {jwt_or_play_session(), account_writes},
     .stores = Stores::account,
     .body = {"LearningPathRequest"},
     .answer = {200, "LearningPathResponse"},
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{choose_learning_path}},
    {.request = "GET /api/internal/learning/modules",
     .name = "internalListModules",
     .tag = "Internal",
     .summary = "List all learning modules, including those that users don't see",
     .text = "Lists all modules in order, also inactive ones.",
     .guards = every_admin,
     .paged = true,
     .answer = {200, "LearningModuleList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_modules}},
    {.request = "POST /api/internal/learning/modules",
     .name = "createModule",
     .tag = "Internal",
     .summary = "Create a learning module",
     .text = "Adds a module, at the end unless module_number says otherwise.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateModuleRequest"},
     .answer = {201, "LearningModuleEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_module}},
    {.request = "PATCH /api/internal/learning/modules/{id}",
     .name = "changeModule",
     .tag = "Internal",
     .summary = "Change a learning module; fields that aren't sent stay",
     .text = "Changes the fields that are sent. Points apply to later completions.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&module_in_path},
     .body = {"ChangeModuleRequest"},
     .answer = {200, "LearningModuleEnvelope"},
     .errors = {Code::module_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_module}},
};

}  // namespace

std::span<const Route> learning_routes() { return rows; }

}  // namespace berth::api
