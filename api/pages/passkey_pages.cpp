// Passkeys: logging in with one, proving the second factor by one, and looking after one's own. A
// script asks the browser; without it, and in browsers without passkeys, the buttons stay hidden.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/pages/page.h"
#include "api/resources/accounts/passkey_json.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/domain/accounts/passkeys.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api::pages {
namespace {

constexpr std::string_view script_of_passkeys = "passkey_script";
constexpr const char* passkeys_page = "/account/passkeys";

Values truth(bool value) {
  return Values(value ? Values::type::bool_true : Values::type::bool_false);
}

// What the script has put into the form.
nlohmann::json credential_in(const Visit& visit) {
  auto credential = nlohmann::json::parse(visit.field("credential"), nullptr, false);
  if (!credential.is_object()) throw webauthn::refusal(webauthn::malformed);
  return credential;
}
passkeys::Answer answer_in(const Visit& visit) {
  return api::answer_in(credential_in(visit), visit.field("state"),
                        assertion_binding(visit.form_id));
}

Proof typed_proof(const Visit& visit) {
  const std::string password = visit.field("password");
  return {.password = password.empty() ? std::nullopt : std::optional(password),
          .address = visit.address};
}

void set_question(const PasskeyQuestion& question, Page& page) {
  page.script = script_of_passkeys;
  page.values.set("passkey_state", question.state);
  page.values.set("passkey_options", question.options.dump());
}

Values passkey_values(const Visit& visit, const passkeys::Passkey& passkey, bool is_last_factor) {
  Values values(Values::type::object);
  values.set("id", passkey.id);
  values.set("name", passkey.name);
  values.set("since", in_words(visit, passkey.created_at));
  values.set("last_used",
             passkey.last_used_at ? in_words(visit, *passkey.last_used_at) : visit.say("never"));
  values.set("synced", truth(passkey.synced));
  values.set("is_last_factor", truth(is_last_factor));
  return values;
}

Page passkeys_list(const Visit& visit) {
  Page page = {.title = visit.say("Passkeys"), .content = "passkeys"};
  return visit.services.db.read([&](db::Tx& tx) {
    const accounts::User user = accounts::find(tx, visit.user().id).value_or(visit.user());
    const auto known = passkeys::list(tx, user.id);
    Values list(Values::type::list);
    for (const passkeys::Passkey& passkey : known)
      list.push_back(passkey_values(visit, passkey, known.size() == 1 && !user.totp_enabled));
    page.values.set("passkeys", list);
    page.values.set("has_passkeys", truth(!known.empty()));
    page.values.set("available",
                    truth(webauthn::relying_party(visit.services.base_url).has_value()));
    // Whoever has a second factor is asked for that, on a page of its own.
    page.values.set("ask_password",
                    truth(!user.has_second_factor() &&
                          !accounts::has_fresh_proof(tx, visit.visitor->session_id)));
    return page;
  });
}

// Runs `work` and shows the list, with what was done or with the reason why it was refused. If the
// second factor has to be proven first, the page for that follows.
template <typename Work>
Page change_passkeys(const Visit& visit, const std::string& done, Work&& work) {
  try {
    work();
    Page page = passkeys_list(visit);
    page.values.set("done", done);
    offer_to_end_others(visit, page);
    return page;
  } catch (const Error& error) {
    return refused_or_prove(visit, error, passkeys_page, [&] { return passkeys_list(visit); });
  }
}

}  // namespace

Page refused_or_prove(const Visit& visit, const Error& error, const std::string& next,
                      const std::function<Page()>& again) {
  const bool is_asked = error.code == Code::insufficient_user_authentication;
  const bool proves = is_asked && visit.user().has_second_factor();
  return refused(visit, proves ? prove_totp_page(visit, next) : again(), error);
}

void set_passkey_login(const Visit& visit, Page& page) {
  if (!webauthn::relying_party(visit.services.base_url)) return;
  page.values.set("has_passkey_login", truth(true));
  page.script = script_of_passkeys;
}

void set_passkey_proof(const Visit& visit, Page& page) {
  if (visit.user().passkeys == 0 || !webauthn::relying_party(visit.services.base_url)) return;
  page.values.set("has_passkeys", truth(true));
  set_question(ask_for_assertion(visit.user().id, assertion_binding(visit.form_id), visit.services),
               page);
}

Page log_in_by_passkey(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        return enter(
            visit, sign_in_by_passkey({.answer = answer_in(visit),
                                       .address = visit.address,
                                       .user_agent = visit.user_agent(),
                                       .idle_timeout = visit.services.logins.browser_idle_timeout},
                                      visit.services));
      },
      [&] { return login_page(visit, safe_next(visit.field("next")), ""); });
}

Page show_passkeys(Visit& visit) { return passkeys_list(visit); }

// The proof is asked for before the browser makes a passkey, so that none is left on a device that
// berth doesn't know.
Page start_passkey(Visit& visit) {
  try {
    require_factor_proof(visit.user(), visit.visitor->session_id, typed_proof(visit),
                         visit.services);
    Page page = {.title = visit.say("Create a passkey"), .content = "new_passkey"};
    page.values.set("name", visit.field("name"));
    set_question(
        ask_for_creation(visit.user(), creation_binding(visit.visitor->session_id), visit.services),
        page);
    return page;
  } catch (const Error& error) {
    return refused_or_prove(visit, error, passkeys_page, [&] { return passkeys_list(visit); });
  }
}

Page add_passkey(Visit& visit) {
  const Services& services = visit.services;
  const std::string session_id = visit.visitor->session_id;
  return change_passkeys(
      visit, visit.say("The passkey was added. You can log in with it from now on."), [&] {
        require_factor_proof(visit.user(), session_id, {.address = visit.address}, services);
        const auto party = require_relying_party(services);
        const passkeys::NewPasskey wanted = {.name = visit.field("name"),
                                             .state = visit.field("state"),
                                             .bound_to = creation_binding(session_id),
                                             .answer = creation_in(credential_in(visit))};
        services.db.write([&](db::Tx& tx) {
          accounts::require_session(tx, session_id);
          passkeys::add(tx, visit.user(), party, wanted, services.keys, services.base_url);
          accounts::note_second_factor(tx, session_id);
        });
      });
}

Page rename_passkey(Visit& visit) {
  return change_passkeys(visit, visit.say("The passkey was renamed."), [&] {
    visit.services.db.write([&](db::Tx& tx) {
      passkeys::rename(tx, visit.user().id, visit.field("id"), visit.field("name"));
    });
  });
}

Page remove_passkey(Visit& visit) {
  const Services& services = visit.services;
  return change_passkeys(visit, visit.say("The passkey was removed."), [&] {
    require_factor_proof(visit.user(), visit.visitor->session_id, typed_proof(visit), services);
    const auto last =
        visit.field("last").empty() ? passkeys::Last::refused : passkeys::Last::confirmed;
    services.db.write([&](db::Tx& tx) {
      passkeys::remove(tx, visit.user(), visit.field("id"), last, services.keys, services.base_url);
    });
  });
}

Page prove_passkey(Visit& visit) {
  const std::string next = safe_next(visit.field("next"));
  return unless_refused(
      visit,
      [&] {
        api::require_proof(visit.user(), visit.visitor->session_id,
                           {.passkey = answer_in(visit), .address = visit.address}, visit.services);
        return go_to(next);
      },
      [&] { return prove_totp_page(visit, next); });
}

}  // namespace berth::api::pages
