// Turning the second factor on and off, and its recovery codes.
#include "api/pages/page.h"
#include "api/resources/accounts/qr_code.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"

namespace berth::api::pages {
namespace {

// The form asks for the password if the session's last proof is too old.
void set_ask_password(const Visit& visit, Page& page) {
  const bool is_fresh = visit.services.db.read(
      [&](db::Tx& tx) { return accounts::has_fresh_proof(tx, visit.visitor->session_id); });
  page.values.set("ask_password",
                  Values(is_fresh ? Values::type::bool_false : Values::type::bool_true));
}

Proof proof_in(const Visit& visit) {
  const std::string password = visit.field("password");
  return {.password = password.empty() ? std::nullopt : std::optional(password),
          .address = visit.address};
}

Page enabled_page(const Visit& visit) {
  Page page = {.title = visit.say("Second factor"), .content = "totp"};
  const int left = visit.services.db.read(
      [&](db::Tx& tx) { return two_factor::recovery_codes_left(tx, visit.user().id); });
  page.values.set("enabled", Values(Values::type::bool_true));
  page.values.set("codes_left", std::to_string(left));
  return page;
}

Page setup_page(const Visit& visit, const two_factor::Setup& setup) {
  Page page = {.title = visit.say("Set up an authenticator"), .content = "totp"};
  const QrCode code = qr_code(setup.uri);
  page.values.set("qr_size", std::to_string(code.size));
  page.values.set("qr_path", code.path);
  page.values.set("secret", setup.secret);
  page.values.set("setup", Values(Values::type::bool_true));
  set_ask_password(visit, page);
  return page;
}

Page codes_page(const Visit& visit, const std::vector<std::string>& codes) {
  Page page = {.title = visit.say("Your recovery codes"), .content = "recovery_codes"};
  page.is_shown_once = true;
  Values list(Values::type::list);
  for (const std::string& code : codes) list.push_back(Values(code));
  page.values.set("codes", list);
  std::string file;
  for (const std::string& code : codes) file += code + "\n";
  page.values.set("codes_first", Values(Values::type::bool_true));
  offer_to_end_others(visit, page);
  page.values.set("file", "data:text/plain;charset=utf-8," + percent_encode(file));
  return page;
}

// The page after a wrong code.
Page again_after_enabling(Visit& visit) {
  if (visit.user().totp_enabled) return enabled_page(visit);
  // The page shows the same secret again, because the authenticator has it by now.
  return setup_page(visit, visit.services.db.read([&](db::Tx& tx) {
    return two_factor::pending(tx, visit.user(), visit.services.keys);
  }));
}

// Returns the page to go on with if the second factor has to be proven first, or the proof is
// wrong; then it is `again`.
std::optional<Page> ask_for_factor(Visit& visit, const Proof& proof, Page (*again)(Visit&)) {
  try {
    require_factor_proof(visit.user(), visit.visitor->session_id, proof, visit.services);
    return std::nullopt;
  } catch (const Error& error) {
    return refused_or_prove(visit, error, "/account/totp", [&] { return again(visit); });
  }
}

}  // namespace

Page show_totp(Visit& visit) {
  if (visit.user().totp_enabled) return enabled_page(visit);
  Page page = {.title = visit.say("Second factor"), .content = "totp"};
  page.values.set("start", Values(Values::type::bool_true));
  return page;
}

// The proof is asked for before there is a secret, so that none is left in an authenticator that
// berth has replaced.
Page set_up_totp(Visit& visit) {
  if (visit.user().has_second_factor() && !visit.user().totp_enabled)
    if (auto asked = ask_for_factor(visit, {.address = visit.address}, show_totp)) return *asked;
  return setup_page(visit, visit.services.db.write([&](db::Tx& tx) {
    return two_factor::set_up(tx, visit.user(), visit.services.keys);
  }));
}

Page enable_totp(Visit& visit) {
  const Services& services = visit.services;
  if (auto asked = ask_for_factor(visit, proof_in(visit), again_after_enabling)) return *asked;
  return unless_refused(
      visit,
      [&] {
        return codes_page(visit, services.db.write([&](db::Tx& tx) {
          accounts::require_session(tx, visit.visitor->session_id);
          auto codes = two_factor::enable(tx, visit.user(), visit.field("code"), services.keys,
                                          services.base_url);
          accounts::note_second_factor(tx, visit.visitor->session_id);
          return codes;
        }));
      },
      [&] { return again_after_enabling(visit); });
}

Page disable_totp(Visit& visit) {
  const Services& services = visit.services;
  return unless_refused(
      visit,
      [&] {
        api::disable_totp(visit.user(),
                          {.password = visit.field("password"),
                           .code = visit.field("code"),
                           .address = visit.address},
                          services);
        Page page = message(visit.say("The second factor is off"),
                            {visit.say("Logging in requires only your password now.")}, "/account",
                            visit.say("Back to the account"));
        offer_to_end_others(visit, page);
        return page;
      },
      [&] { return enabled_page(visit); });
}

Page new_recovery_codes(Visit& visit) {
  const Services& services = visit.services;
  if (auto asked = ask_for_factor(visit, {.address = visit.address}, show_totp)) return *asked;
  return unless_refused(
      visit,
      [&] {
        return codes_page(visit, services.db.write([&](db::Tx& tx) {
          return two_factor::new_recovery_codes(tx, visit.user(), services.keys, services.base_url);
        }));
      },
      [&] { return show_totp(visit); });
}

Page prove_totp_page(const Visit& visit, const std::string& next) {
  Page page = {.title = visit.say("Prove your second factor"), .content = "prove_totp"};
  page.values.set("next", next);
  const bool is_own = next == "/account" || next.starts_with("/account/");
  page.values.set("is_admins", Values(is_own ? Values::type::bool_false : Values::type::bool_true));
  page.values.set("totp_enabled", Values(visit.user().totp_enabled ? Values::type::bool_true
                                                                   : Values::type::bool_false));
  set_passkey_proof(visit, page);
  return page;
}

Page prove_totp(Visit& visit) {
  const std::string next = safe_next(visit.field("next"));
  return unless_refused(
      visit,
      [&] {
        api::require_proof(visit.user(), visit.visitor->session_id,
                           {.totp_code = visit.field("code"), .address = visit.address},
                           visit.services);
        return go_to(next);
      },
      [&] { return prove_totp_page(visit, next); });
}

}  // namespace berth::api::pages
