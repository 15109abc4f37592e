// The pages of the visitor's own account.
#include "api/pages/page.h"
#include "api/resources/accounts/deletion.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/email_changes.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/oauth/devices.h"

namespace berth::api::pages {
namespace {

Values flag(bool value) {
  return Values(value ? Values::type::bool_true : Values::type::bool_false);
}

Values session_values(const Visit& visit, const accounts::SessionInfo& session,
                      const std::string& current) {
  Values values(Values::type::object);
  values.set("id", session.id);
  values.set("address", session.address);
  values.set("user_agent", program_in_words(visit, session.user_agent));
  values.set("since", in_words(visit, session.created_at));
  values.set("current", flag(session.id == current));
  return values;
}

Values device_values(const Visit& visit, const devices::Device& device) {
  Values values(Values::type::object);
  values.set("id", device.id);
  values.set("name", device.name);
  values.set("program", program_in_words(visit, device.program));
  values.set("address", device.address.empty() ? visit.say("an unknown address") : device.address);
  values.set("since", in_words(visit, device.connected_at));
  values.set("last_used", in_words(visit, device.last_used));
  return values;
}

// Reads the account again, so that the page shows what the form has just changed.
Page account_page(const Visit& visit) {
  return visit.services.db.read([&](db::Tx& tx) {
    const accounts::User user = accounts::find(tx, visit.user().id).value_or(visit.user());
    Page page = {.title = visit.say("Your account"), .content = "account"};
    page.values.set("email", user.email);
    page.values.set("own_name", user.username);
    page.values.set("points", std::to_string(user.points));
    page.values.set("tier", user.tier);
    page.values.set("referral_code", user.referral_code);
    page.values.set("verified", flag(user.email_verified));
    page.values.set("totp_enabled", flag(user.totp_enabled));
    if (user.passkeys > 0) page.values.set("passkeys", std::to_string(user.passkeys));
    Values sessions(Values::type::list);
    const auto list = accounts::list_sessions(
        tx, user.id, {.page = 1, .page_size = accounts::max_sessions_per_user});
    for (const accounts::SessionInfo& session : list.items)
      sessions.push_back(session_values(visit, session, visit.visitor->session_id));
    page.values.set("sessions", sessions);
    page.values.set("has_others", flag(list.total > 1));
    Values programs(Values::type::list);
    for (const devices::Device& device :
         devices::list(tx, user.id, {.page = 1, .page_size = PageRequest::max_size}).items)
      programs.push_back(device_values(visit, device));
    if (!programs.is_empty_list()) page.values.set("has_devices", flag(true));
    page.values.set("devices", programs);
    return page;
  });
}

// Runs `work` and shows the account, with what was done or with the reason why it was refused. If
// the second factor has to be proven first, the page for that follows.
template <typename Work>
Page change(Visit& visit, const std::string& done, Work&& work) {
  try {
    work();
    Page page = account_page(visit);
    page.values.set("done", done);
    return page;
  } catch (const Error& error) {
    return refused_or_prove(visit, error, "/account", [&] { return account_page(visit); });
  }
}

}  // namespace

namespace {

// Returns a number that isn't negative, with a mark between thousands as in the page's language.
std::string grouped(const Visit& visit, std::int64_t number) {
  std::string text = std::to_string(number);
  const char mark = visit.language == Language::de ? '.' : ',';
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, mark);
  return text;
}

// Returns a tier's memory as the console writes it, such as "512 MB memory" or "1 GB memory".
std::string memory_in_words(const Visit& visit, std::int64_t mb) {
  constexpr std::int64_t mb_in_gb = 1024;
  if (mb % mb_in_gb == 0)
    return visit.say("{count} GB memory", {{"count", grouped(visit, mb / mb_in_gb)}});
  return visit.say("{count} MB memory", {{"count", grouped(visit, mb)}});
}

// The tiers that can be paid for with points, for the prices on the start page.
Values prices_of(const Visit& visit) {
  Values prices(Values::type::list);
  for (const tiers::Tier& tier :
       visit.services.db.read([](db::Tx& tx) { return tiers::list(tx); })) {
    if (tier.payment_method != tiers::PaymentMethod::service_points) continue;
    const std::int64_t points = tier.monthly_cost_points.value_or(0);
    Values values(Values::type::object);
    values.set("name", tier.name);
    values.set("price", points == 0
                            ? visit.say("Free")
                            : visit.say("{count} points", {{"count", grouped(visit, points)}}));
    values.set("is_paid", flag(points > 0));
    values.set("memory", memory_in_words(visit, tier.memory_limit_mb));
    values.set("cpu", std::to_string(tier.cpu_limit_millicores) + " mCPU");
    values.set("has_domain", flag(tier.custom_domain_allowed && visit.services.cluster.has_issuer));
    values.set("by_admin", flag(!tier.auto_approve));
    prices.push_back(values);
  }
  return prices;
}

}  // namespace

// The page for visitors who enter the platform's address.
Page show_home(Visit& visit) {
  if (visit.visitor) return go_to("/console");
  Page page = {.title = visit.say("Run containers without running a cluster"), .content = "start"};
  page.values.set("wide", flag(true));
  const Values prices = prices_of(visit);
  page.values.set("has_prices", flag(!prices.is_empty_list()));
  page.values.set("prices", prices);
  page.values.set("has_domains", flag(visit.services.cluster.has_issuer));
  const KubernetesState kubernetes = visit.services.cluster.state();
  page.values.set("simulated", flag(kubernetes == KubernetesState::simulated));
  page.values.set(
      "well", flag(kubernetes != KubernetesState::unreachable && visit.services.db.takes_writes()));
  return page;
}

Page show_account(Visit& visit) { return account_page(visit); }

Page rename(Visit& visit) {
  return change(visit, visit.say("Your username was changed."), [&] {
    visit.visitor->user = visit.services.db.write([&](db::Tx& tx) {
      return accounts::rename(tx, visit.user().id, visit.field("username"),
                              visit.services.rules.reserved_names);
    });
  });
}

Page change_password(Visit& visit) {
  const bool keeps = !visit.field("keep_others").empty();
  const std::string done =
      keeps ? visit.say("Your password was changed. Your other sessions continue.")
            : visit.say(
                  "Your password was changed, and your other sessions have ended, as has "
                  "the access of programs and apps.");
  return change(visit, done, [&] {
    api::change_password(visit.user(),
                         {.current = visit.field("current_password"),
                          .fresh = visit.field("new_password"),
                          .kept_session = visit.visitor->session_id,
                          .others = keeps ? accounts::OtherWays::keep : accounts::OtherWays::end,
                          .address = visit.address},
                         visit.services);
  });
}

Page change_email(Visit& visit) {
  const std::string code = visit.field("totp_code");
  return change(
      visit,
      visit.say("We have sent a mail to both addresses. Yours changes once the new one has "
                "confirmed it."),
      [&] {
        ask_for_email_change(visit.user(),
                             {.new_email = visit.field("new_email"),
                              .password = visit.field("password"),
                              .totp_code = code.empty() ? std::nullopt : std::optional(code),
                              .session_id = visit.visitor->session_id,
                              .address = visit.address},
                             visit.services);
      });
}

Page resend_verification(Visit& visit) {
  const Services& services = visit.services;
  const std::string where = whereabouts_of_mail(visit);
  return change(
      visit, visit.say("We have sent you a mail.") + (where.empty() ? "" : " " + where), [&] {
        services.db.write([&](db::Tx& tx) {
          accounts::resend_verification(tx, visit.user(), services.keys, services.base_url);
        });
      });
}

Page end_session(Visit& visit) {
  return change(visit, visit.say("The session has ended."), [&] {
    visit.services.db.write(
        [&](db::Tx& tx) { accounts::end_session(tx, visit.user().id, visit.field("id")); });
  });
}

Page end_other_sessions(Visit& visit) {
  return change(visit, visit.say("Your other sessions have ended."), [&] {
    visit.services.db.write([&](db::Tx& tx) {
      accounts::end_sessions(tx, visit.user().id, visit.visitor->session_id);
    });
  });
}

void offer_to_end_others(const Visit& visit, Page& page) {
  const auto all = visit.services.db.read([&](db::Tx& tx) {
    return accounts::list_sessions(tx, visit.user().id, {.page = 1, .page_size = 1}).total;
  });
  page.values.set("end_others", flag(all > 1));
}

Page end_device(Visit& visit) {
  return change(visit, visit.say("The program was disconnected."), [&] {
    visit.services.db.write(
        [&](db::Tx& tx) { devices::end(tx, visit.user().id, visit.field("id")); });
  });
}

Page delete_account(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        api::delete_account(visit.user(), visit.field("password"), visit.address, visit.services);
        Page page = message(visit.say("Your account was deleted"), {visit.say("Goodbye.")});
        page.session = "";
        return page;
      },
      [&] { return account_page(visit); });
}

}  // namespace berth::api::pages
