// The pages on which a person lets a device without a browser use their account (RFC 8628, section
// 3.3). The code is typed and then confirmed on a page that says who asks, for what and from where,
// since the person may have got it from somebody else (section 5.4).
#include "api/gate/login_throttle.h"
#include "api/pages/page.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/device.h"

namespace berth::api::pages {
namespace {

Page code_page(const Visit& visit) {
  Page page = {.title = visit.say("Connect a device"), .content = "device"};
  page.values.set("account", visit.user().username);
  return page;
}

Page confirmation_page(const Visit& visit, const oauth::DeviceRequest& request) {
  Page page = {.title = visit.say("Allow this device?"), .content = "device_confirm"};
  page.values.set("account", visit.user().username);
  page.values.set("app_name", request.app.app_name);
  page.values.set("app_description", request.app.app_description);
  set_maker(visit, request.app, page);
  page.values.set("user_code", request.user_code);
  page.values.set("address", request.address);
  const bool same = accounts::network_of(request.address) == accounts::network_of(visit.address);
  page.values.set("same_network",
                  Values(same ? Values::type::bool_true : Values::type::bool_false));
  page.values.set("user_agent", program_in_words(visit, request.user_agent));
  page.values.set("asked_at", in_words(visit, request.asked_at));
  page.values.set("lasts", duration_in_words(visit, visit.services.rules.oauth.family_lifetime));
  page.values.set("manages", Values(Values::type::bool_true));
  page.values.set("scopes", scope_values(visit, request.scopes));
  return page;
}

std::optional<oauth::DeviceRequest> request_of(const Visit& visit, const std::string& code) {
  return visit.services.db.read(
      [&](db::Tx& tx) { return oauth::find_device_request(tx, code, visit.services.keys.data); });
}

// A wrong code counts like a failed login of this person, in an account of its own, so that nobody
// finds another person's device by trying codes.
LoginThrottle::Attempt attempt_of(const Visit& visit) {
  return {.account = "device codes of " + visit.user().id,
          .network = accounts::network_of(visit.address),
          .known_network = false};
}

Error not_waiting() {
  return with_event(invalid_field("user_code", "is wrong, too old or was used before"),
                    {.kind = SecurityKind::device_code_rejected, .reason = "wrong_code"});
}

oauth::DeviceRequest find(const Visit& visit) {
  LoginThrottle& throttle = visit.services.logins.throttle;
  const auto attempt = attempt_of(visit);
  if (visit.services.rate_limits)
    if (const auto wait = throttle.begin(attempt, LoginThrottle::Secret::code,
                                         std::chrono::steady_clock::now())) {
      Error refusal(Code::rate_limited, "too many wrong codes; try again later");
      refusal.retry_after = *wait;
      throw with_event(refusal, {.kind = SecurityKind::login_throttled, .reason = "device_code"});
    }
  auto request = request_of(visit, visit.field("user_code"));
  if (!request) throw not_waiting();
  if (visit.services.rate_limits) throttle.undo(attempt, LoginThrottle::Secret::code);
  return *std::move(request);
}

}  // namespace

Page show_device(Visit& visit) { return code_page(visit); }

Page enter_device_code(Visit& visit) {
  return unless_refused(
      visit, [&] { return confirmation_page(visit, find(visit)); },
      [&] { return code_page(visit); });
}

Page decide_device(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        const oauth::DeviceRequest request = find(visit);
        const bool allowed = visit.field("decision") == "allow";
        const auto decision = allowed ? oauth::DeviceDecision::allow : oauth::DeviceDecision::deny;
        const bool decided = visit.services.db.write([&](db::Tx& tx) {
          const bool is_decided = oauth::decide_device_request(tx, visit.user(), request.user_code,
                                                               decision, visit.services.keys.data);
          if (is_decided) audit::record_operation(tx, "app", request.app.id);
          return is_decided;
        });
        if (!decided) throw not_waiting();
        Page page =
            allowed
                ? message(visit.say("The device is connected"),
                          {visit.say("{app} can use your account now. You can close this page.",
                                     {{"app", request.app.app_name}})},
                          "/connected-apps", visit.say("Connected apps"))
                : message(
                      visit.say("The device got no access"),
                      {visit.say("The code doesn’t work any more. If somebody has sent it to you, "
                                 "they can’t do anything with it.")});
        page.event = {.kind = SecurityKind::device_decided,
                      .reason = allowed ? "allowed" : "denied"};
        return page;
      },
      [&] { return code_page(visit); });
}

}  // namespace berth::api::pages
