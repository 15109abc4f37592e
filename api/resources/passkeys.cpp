// Passkeys (WebAuthn): registering them, looking after them, and logging in with one.
#include "controller/domain/accounts/passkeys.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/accounts/passkey_json.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/shared.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode_passkey(const passkeys::Passkey& passkey) {
  return {{"id", passkey.id},
          {"name", passkey.name},
          {"synced", passkey.synced},
          {"inserted_at", to_iso8601(passkey.created_at)},
          {"last_used_at",
           passkey.last_used_at ? json(to_iso8601(*passkey.last_used_at)) : json(nullptr)}};
}

json encode_question(const PasskeyQuestion& question) {
  return {{"state", question.state}, {"public_key", question.options}};
}

Proof proof_in(const Call& call) {
  return {.password = text_or_nothing(call.body, "password"),
          .totp_code = text_or_nothing(call.body, "totp_code"),
          .address = call.address};
}

Reply ask_for_passkey(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id, proof_in(call), services);
  return {.body = encode_question(
              ask_for_creation(*call.user, creation_binding(call.session_id), services))};
}

// The proof was asked for with the options, and must still be fresh.
Reply add_passkey(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id, {.address = call.address}, services);
  const auto party = require_relying_party(services);
  const passkeys::NewPasskey wanted = {.name = call.body.at("name"),
                                       .state = call.body.at("state"),
                                       .bound_to = creation_binding(call.session_id),
                                       .answer = creation_in(call.body.at("credential"))};
  const auto passkey = services.db.write([&](db::Tx& tx) {
    accounts::require_session(tx, call.session_id);
    auto added = passkeys::add(tx, *call.user, party, wanted, services.keys, services.base_url);
    accounts::note_second_factor(tx, call.session_id);
    audit::record_operation(tx, "passkey", added.id);
    return added;
  });
  return {.status = 201, .body = {{"passkey", encode_passkey(passkey)}}};
}

Reply list_passkeys(db::Tx& tx, const Call& call, const Services&) {
  json list = json::array();
  for (const passkeys::Passkey& passkey : passkeys::list(tx, call.user->id))
    list.push_back(encode_passkey(passkey));
  return {.body = {{"passkeys", list}}};
}

Reply rename_passkey(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"passkey", encode_passkey(passkeys::rename(tx, call.user->id, call.id(),
                                                               call.body.at("name")))}}};
}

Reply remove_passkey(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id, proof_in(call), services);
  const bool confirmed = call.body.is_object() && call.body.value("last", false);
  services.db.write([&](db::Tx& tx) {
    audit::record_operation(tx, "passkey", call.id());
    passkeys::remove(tx, *call.user, call.id(),
                     confirmed ? passkeys::Last::confirmed : passkeys::Last::refused, services.keys,
                     services.base_url);
  });
  return message_reply("the passkey was removed and no longer logs in");
}

Reply ask_to_log_in(const Call& call, const Services& services) {
  return {.body = encode_question(
              ask_for_assertion("", assertion_binding(call.http, services), services))};
}

Reply log_in_by_passkey(const Call& call, const Services& services) {
  const SignedIn result =
      sign_in_by_passkey({.answer = answer_in(call.body.at("credential"), call.body.at("state"),
                                              assertion_binding(call.http, services)),
                          .address = call.address,
                          .user_agent = std::string(call.http.headers.get("User-Agent")),
                          .idle_timeout = services.logins.jwt_idle_timeout},
                         services);
  services.security.note(
      event_of(result),
      {.address = call.address, .route = call.route->name, .request_id = call.request_id});
  return {.body = {{"token", accounts::session_jwt(result.session, services.keys)},
                   {"user", encode_user(result.user)}}};
}

constexpr Placeholder passkey_in_path = {"PasskeyId", "The id of the passkey.",
                                         "01936f5e-7c1a-7000-8000-00000000000b"};

constexpr Route rows[] = {
    {.request = "POST /api/auth/passkeys/options",
     .name = "askForPasskey",
     .tag = "Account",
     .summary = "Begin to register a passkey: what navigator.credentials.create() is to be asked",
     .text = "Returns the options for the browser, with a challenge that works once within five "
             "minutes, in this session. The password is asked for unless it was entered recently; "
             "if the account has a second factor, that must have been proven within the last 10 "
             "minutes.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::sign_in,
     .body = {"ProofRequest", Body::Form::optional_json},
     .answer = {200, "PasskeyCreationQuestion"},
     .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::proof_given, "passkey_options"},
     .served_by = {.page = "/console/account"},
     .run = FreeHandler{ask_for_passkey}},
    {.request = "POST /api/auth/passkeys",
     .name = "addPasskey",
     .tag = "Account",
     .summary = "Register the passkey that the browser has made",
     .text = "Checks what the browser answered and stores the passkey, which logs in from then on "
             "and proves the second factor. An account has 20 at most. A mail tells of it.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"NewPasskey"},
     .answer = {201, "PasskeyResponse"},
     .errors = {Code::invalid_state, Code::insufficient_user_authentication},
     .event = {SecurityKind::second_factor_changed, "passkey_added"},
     .served_by = {.page = "/console/account"},
     .run = FreeHandler{add_passkey}},
    {.request = "GET /api/auth/passkeys",
     .name = "listPasskeys",
     .tag = "Account",
     .summary = "List the caller's passkeys",
     .text = "Lists the passkeys, oldest first, with the time of their last use. There are 20 at "
             "most.",
     .guards = {session(), account_reads, Shape::nested_but_access},
     .answer = {200, "PasskeyList"},
     .served_by = {.page = "/console/account"},
     .run = ReadHandler{list_passkeys}},
    {.request = "PATCH /api/auth/passkeys/{id}",
     .name = "renamePasskey",
     .tag = "Account",
     .summary = "Rename one of the caller's passkeys",
     .text = "Changes the name under which the passkey is listed. The device keeps its own.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::account,
     .in_path = {&passkey_in_path},
     .body = {"RenamePasskeyRequest"},
     .answer = {200, "PasskeyResponse"},
     .errors = {Code::passkey_not_found},
     .event = {SecurityKind::second_factor_changed, "passkey_renamed"},
     .served_by = {.page = "/console/account"},
     .run = WriteHandler{rename_passkey}},
    {.request = "DELETE /api/auth/passkeys/{id}",
     .name = "removePasskey",
     .tag = "Account",
     .summary = "Remove one of the caller's passkeys",
     .text = "Removes the passkey, which no longer logs in, and tells of it by mail. It needs the "
             "same proof as registering one. The account's only second factor is removed only with "
             "`last`; the password still logs in afterwards.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .in_path = {&passkey_in_path},
     .body = {"RemovePasskeyRequest", Body::Form::optional_json},
     .answer = {200, "Message"},
     .errors = {Code::passkey_not_found, Code::invalid_state, Code::invalid_totp,
                Code::invalid_credentials, Code::insufficient_user_authentication},
     .event = {SecurityKind::second_factor_changed, "passkey_removed"},
     .served_by = {.page = "/console/account"},
     .run = FreeHandler{remove_passkey}},
    {.request = "POST /api/auth/login/passkey/options",
     .name = "askToLogInByPasskey",
     .tag = "Account",
     .summary = "Begin a login with a passkey: what navigator.credentials.get() is to be asked",
     .text = "Returns the options for the browser, with a challenge that works once within five "
             "minutes, for the browser that asked. No name is needed: the passkey says whose it "
             "is. The answer also serves as the proof of a second factor in step-up.",
     .guards = {open_to_all(), logins, Shape::simple},
     .stores = Stores::nothing,
     .answer = {200, "PasskeyQuestion"},
     .errors = {Code::invalid_state},
     .served_by = {.page = "/login"},
     .run = FreeHandler{ask_to_log_in}},
    {.request = "POST /api/auth/login/passkey",
     .name = "logInByPasskey",
     .tag = "Account",
     .summary = "Log in with a passkey and get a session JWT",
     .text = "Checks what the browser answered and begins a session. The passkey has verified the "
             "user, so neither a password nor a code is asked for, and the second factor counts as "
             "proven. Repeated failures are slowed down as those of passwords are.",
     .guards = {open_to_all(), logins, Shape::simple},
     .stores = Stores::sign_in,
     .body = {"PasskeyAnswer"},
     .answer = {200, "AuthResponse"},
     .errors = {Code::invalid_state, Code::invalid_credentials, Code::account_suspended},
     .served_by = {.page = "/login"},
     .run = FreeHandler{log_in_by_passkey}},
};

}  // namespace

std::span<const Route> passkeys_routes() { return rows; }

}  // namespace berth::api
