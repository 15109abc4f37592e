// Personal access tokens, and reports of tokens that were found in public.
#include "controller/domain/oauth/personal_tokens.h"

#include "api/gate/admin_token.h"
#include "api/gate/authenticate.h"
#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/apps.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/reported_tokens.h"

namespace berth::api {
namespace {

// Counted for each network, because anybody may report a token.
constexpr Rate reports = per_minute(30);

json encode(const personal_tokens::Token& token, const Services& services) {
  auto last_used_at = token.last_used_at;
  auto last_used_from = token.last_used_from;
  // The latest use may not have been written to the database yet.
  if (const auto noted = services.logins.personal_token_uses.last_use(token.id))
    if (!last_used_at || *last_used_at <= noted->at) {
      last_used_at = noted->at;
      last_used_from = noted->address;
    }
  return {{"id", token.id},
          {"name", token.name},
          {"scopes", token.scopes.names()},
          {"app_id", or_null(token.app_id)},
          {"deployment_id", or_null(token.deployment_id)},
          {"hint", token.hint},
          {"inserted_at", to_iso8601(token.inserted_at)},
          {"expires_at", to_iso8601(token.expires_at)},
          {"last_used_at", or_null(last_used_at)},
          {"last_used_from", or_null(last_used_from)}};
}

ScopeSet decode_personal_scopes(const json& body) {
  const auto names = body.at("scopes").get<std::vector<std::string>>();
  const auto scopes = parse_personal_scopes(names);
  if (!scopes) throw invalid_field("scopes", "must have known scopes, at least one");
  return *scopes;
}

// Sets the app and the deployment that the token is to be for, both of which have to be the user's.
void decode_target(db::Tx& tx, const Call& call, personal_tokens::Wanted& wanted) {
  wanted.app_id = text_or_nothing(call.body, "app_id");
  wanted.deployment_id = text_or_nothing(call.body, "deployment_id");
  if (wanted.deployment_id) {
    const auto deployment = deployments::find(tx, *wanted.deployment_id);
    if (!deployment) throw Error(Code::deployment_not_found, "there is no such deployment");
    if (wanted.app_id && *wanted.app_id != deployment->app_id)
      throw invalid_field("deployment_id", "must be of the app that app_id names");
    wanted.app_id = deployment->app_id;
  }
  if (wanted.app_id) apps::membership(tx, call.user->id, *wanted.app_id);
}

Reply make_token(const Call& call, const Services& services) {
  require_proof(*call.user, call.session_id,
                {.password = text_or_nothing(call.body, "password"),
                 .totp_code = text_or_nothing(call.body, "totp_code"),
                 .address = call.address},
                services);
  personal_tokens::Wanted wanted = {
      .name = call.body.at("name"),
      .scopes = decode_personal_scopes(call.body),
      .lifetime = std::chrono::days(call.body.value(
          "expires_in_days", std::int64_t(personal_tokens::usual_lifetime.count())))};
  return services.db.write([&](db::Tx& tx) -> Reply {
    accounts::require_session(tx, call.session_id);
    decode_target(tx, call, wanted);
    const accounts::User user = account_of(tx, call.user->id);
    require_may_make(tx, wanted.scopes, wanted.lifetime, user, call.session_id);
    const auto made = personal_tokens::make(tx, user, wanted, services.keys, services.base_url);
    audit::record_operation(tx, "personal_token", made.token.id);
    // It does what an internal secret does, so the log says that as well.
    if (wanted.scopes.has(Scope::admin))
      audit::record(tx, std::string(actor_of_console) + user.id, "admin_token.make", user.id,
                    json{{"token_id", made.token.id}, {"name", made.token.name}}.dump());
    return {.status = 201,
            .body = {{"token", made.secret}, {"personal_token", encode(made.token, services)}}};
  });
}

Reply list_tokens(db::Tx& tx, const Call& call, const Services& services) {
  json list = json::array();
  for (const auto& token : personal_tokens::list(tx, call.user->id))
    list.push_back(encode(token, services));
  return {.body = {{"tokens", std::move(list)}}};
}

Reply revoke_token(db::Tx& tx, const Call& call, const Services&) {
  personal_tokens::revoke(tx, call.user->id, call.id());
  return message_reply("the personal access token no longer works");
}

// The answer is the same for every text, so that it says nothing about tokens. Nothing is written,
// and so no other write is held up, unless there is something to end.
Reply report_token(const Call& call, const Services& services) {
  const std::string token = call.body.at("token");
  if (services.db.read([&](db::Tx& tx) { return reported_tokens::is_any_living(tx, token); })) {
    const auto owner = services.db.write([&](db::Tx& tx) {
      return reported_tokens::report(tx, token, services.keys, services.base_url);
    });
    if (owner)
      services.security.note(
          {.kind = SecurityKind::token_revoked, .reason = "reported", .user_id = *owner},
          {.address = call.address, .route = call.route->name, .request_id = call.request_id});
  }
  return {.status = 202,
          .body = {{"message",
                    "thank you; if it is a token that works, it ends, and its owner is "
                    "told"}}};
}

constexpr Placeholder token_in_path = {"PersonalTokenId",
                                       "The id of one of the caller's personal access tokens.",
                                       "01936f5e-7c1a-7000-8000-00000000000f"};

constexpr Route rows[] = {
    {.request = "POST /api/auth/tokens",
     .name = "makePersonalToken",
     .tag = "Account",
     .summary = "Make a personal access token, which is shown only in this answer",
     .text =
         "Makes a token (pat_live_…) for a program of the caller's own, such as a CI job: for all "
         "of their apps, one app or one deployment. At each use it may do what its scopes say, as "
         "far as the app is approved for them; it opens nothing that changes the account, and "
         "moves no points of the caller. The last 6 characters are a checksum of the 40 before "
         "them (CRC-32 in base62), by which scanners for secrets recognise it. A mail tells of "
         "it. An account has at most 50 tokens that work. With the scope admin, which is for no "
         "app, the token opens /api/internal/ to what the role of the caller allows, for 30 days "
         "at most: an admin makes it who has proven their second factor in this session within "
         "the last 15 minutes.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"MakePersonalTokenRequest"},
     .answer = {201, "MadePersonalToken"},
     .errors = {Code::insufficient_user_authentication, Code::invalid_credentials,
                Code::invalid_totp, Code::email_not_verified, Code::app_not_found,
                Code::deployment_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::token_issued, "personal_token"},
     .served_by = {"berth tokens create", "/console/account"},
     .run = FreeHandler{make_token}},
    {.request = "GET /api/auth/tokens",
     .name = "listPersonalTokens",
     .tag = "Account",
     .summary = "List the personal access tokens that work",
     .text = "Lists the caller's personal access tokens that haven't ended, newest first: what "
             "each may do, its last characters, and when and from which address it was last used.",
     .guards = {person(), account_reads, Shape::nested_but_access},
     .answer = {200, "PersonalTokenList"},
     .served_by = {"berth tokens list", "/console/account"},
     .run = ReadHandler{list_tokens}},
    {.request = "DELETE /api/auth/tokens/{id}",
     .name = "revokePersonalToken",
     .tag = "Account",
     .summary = "Revoke a personal access token: it ends at once",
     .text = "Ends a token: requests with it are refused from now on, and streams and sessions in "
             "containers that it has opened end within 5 seconds.",
     .guards = {person(), account_writes, Shape::nested_but_access},
     .stores = Stores::nothing,
     .in_path = {&token_in_path},
     .answer = {200, "Message"},
     .errors = {Code::not_found},
     .event = {SecurityKind::token_revoked, "personal_token"},
     .served_by = {"berth tokens revoke", "/console/account"},
     .run = WriteHandler{revoke_token}},
    {.request = "POST /api/tokens/report",
     .name = "reportToken",
     .tag = "Account",
     .summary = "Report a token that was found in public, which ends it",
     .text = "For whoever finds a token where it doesn't belong, such as in a public repository. "
             "A personal access token ends; an access or refresh token ends with all tokens of "
             "the same login. A mail tells its owner. The answer is the same for any text.",
     .guards = {open_to_all(), reports},
     .stores = Stores::nothing,
     .body = {"ReportTokenRequest"},
     .answer = {202, "TokenReport"},
     .unaudited = "The end of a token is recorded as token.report; other texts change nothing.",
     .served_by = {"berth tokens report"},
     .run = FreeHandler{report_token}},
};

}  // namespace

std::span<const Route> personal_tokens_routes() { return rows; }

}  // namespace berth::api
