#include "api/gate/audit_entry.h"

#include <algorithm>
#include <cctype>

#include "api/gate/authenticate.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api {
namespace {

struct Target {
  std::string kind;
  std::string id;
};

// Returns what a placeholder's component stands for: "AppInvitationId" for an app_invitation.
std::string thing_of(std::string_view component) {
  if (component.ends_with("Id")) component.remove_suffix(2);
  if (component == "MyApp" || component == "OwnApp" || component == "InternalApp") return "app";
  if (component == "InternalDeployment") return "deployment";
  if (component == "Member" || component == "Account") return "user";
  std::string kind;
  for (const char c : component) {
    const bool is_capital = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_capital && !kind.empty()) kind += '_';
    kind += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return kind;
}

// Returns the thing in the answer that has an id, if there is just one: what was made, or whom a
// login is for.
Target target_in_answer(const json& body) {
  if (!body.is_object()) return {};
  const auto id_of = [](const json& object) {
    const auto id = object.is_object() ? object.find("id") : object.end();
    return object.is_object() && id != object.end() && id->is_string() ? id->get<std::string>()
                                                                       : std::string();
  };
  const std::string whole = id_of(body);
  Target only;
  int found = 0;
  for (const auto& [name, value] : body.items()) {
    const std::string id = id_of(value);
    // An app's request for scopes is made along with it.
    if (name == "scope_request" && body.contains("app")) continue;
    if (id.empty() || (!whole.empty() && id != whole)) continue;
    only = {name, id};
    ++found;
  }
  if (found == 1) return only;
  return whole.empty() ? Target() : Target{"", whole};
}

Target target_in_path(const Call& call) {
  const Route& route = *call.route;
  Target last;
  const auto names = placeholders_in(route.path());
  for (size_t i = 0; i < names.size(); ++i)
    if (route.in_path[i]->kind == Kind::uuid)
      last = {thing_of(route.in_path[i]->component), call.id(names[i])};
  return last;
}

Target target_of(const Call& call, const json& answer) {
  constexpr int created = 201;
  Target target = target_in_path(call);
  if (target.id.empty() || call.route->answer.status == created)
    if (Target made = target_in_answer(answer); !made.id.empty()) target = std::move(made);
  if (!target.id.empty()) return target;
  if (call.caller && !call.caller->app_id.empty()) return {"app", call.caller->app_id};
  if (call.user) return {"user", call.user->id};
  return {};
}

// The id of the app that the path names. Of a user's connection to an app, it isn't the app that
// the operation is about.
std::string app_in_path(const Call& call) {
  const auto names = placeholders_in(call.route->path());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view component = call.route->in_path[i]->component;
    if (component == "MyAppId" || component == "OwnAppId" || component == "InternalAppId" ||
        (component == "AppId" && !call.admin.empty()))
      return call.id(names[i]);
  }
  return "";
}

bool is_to_record(const Call& call, const Reply& reply, const Requester& requester) {
  constexpr int first_error = 400;
  return request_changes(*call.route) && call.route->unaudited.empty() && !reply.refusal &&
         reply.status < first_error && !requester.is_recorded && !requester.records;
}

void record_target(db::Tx& tx, const Call& call, const Target& target, Requester& requester) {
  // An app that was made. One in the path is app_in_path()'s, or not what the operation is about.
  const bool is_made = target.kind == "app" && target_in_path(call).id != target.id;
  if (is_made && requester.app_id.empty()) requester.app_id = target.id;
  audit::record_operation(tx, target.kind, target.id);
}

}  // namespace

bool request_changes(const Route& route) {
  return !std::holds_alternative<ReadHandler>(route.run) &&
         (route.method() != "GET" || std::holds_alternative<WriteHandler>(route.run) ||
          !route.event.reason.empty());
}

Requester requester_of(const Call& call) {
  Requester who = {.actor = call.admin};
  who.operation = call.route->name;
  who.network = accounts::network_of(call.address);
  who.request_id = call.request_id;
  who.app_id = app_in_path(call);
  if (call.user) who.user_id = call.user->id;
  if (!call.admin.empty()) {
    who.token_kind = !call.session_id.empty() ? "admin_console"
                     : call.user              ? "admin_token"
                                              : "internal_secret";
    who.token_id = call.session_id.empty() ? call.admin_token_id : call.session_id;
    return who;
  }
  if (!call.session_id.empty()) {
    who.token_kind = bearer_token(call.http).empty() ? "console" : "session";
    who.token_id = call.session_id;
  }
  if (call.play) {
    who.user_id = call.play->user_id;
    if (who.app_id.empty()) who.app_id = call.play->app_id;
    who.token_kind = "play_session";
    who.token_id = call.play->id;
  }
  if (call.caller) {
    who.user_id = call.caller->user_id;
    if (who.app_id.empty()) who.app_id = call.caller->app_id;
    if (!call.caller->personal_token_id.empty()) {
      who.token_kind = "personal_token";
      who.token_id = call.caller->personal_token_id;
    } else if (!call.caller->family_id.empty()) {
      who.token_kind = call.caller->first_party ? "client_token" : "access_token";
      who.token_id = call.caller->family_id;
    }
  }
  if (!who.user_id.empty()) who.actor = std::string(actor_of_console) + who.user_id;
  return who;
}

void record_success(db::Tx& tx, const Call& call, const Reply& reply, std::int64_t changes_before) {
  Requester* const requester = tx.requester();
  if (requester == nullptr || tx.changes() == changes_before) return;
  if (is_to_record(call, reply, *requester))
    record_target(tx, call, target_of(call, reply.body), *requester);
}

void record_success(const Services& services, const Call& call, const Reply& reply,
                    Requester& requester) {
  requester.records = false;
  if (!requester.has_changed || !is_to_record(call, reply, requester)) return;
  const Target target = target_of(call, reply.body);
  services.db.write([&](db::Tx& tx) { record_target(tx, call, target, requester); });
}

}  // namespace berth::api
