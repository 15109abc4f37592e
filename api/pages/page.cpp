#include "api/pages/page.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <sstream>

#include "api/resources/oauth/redirect.h"
#include "controller/base/program_name.h"

namespace berth::api::pages {

std::string Visit::field(std::string_view name) const {
  const auto value = form.find(name);
  return value == form.end() ? std::string() : value->second;
}

std::string Visit::query(std::string_view name) const {
  const auto value = http.query.find(name);
  return value == http.query.end() ? std::string() : value->second;
}

void add_security_headers(Response& response, std::string policy) {
  response.add_header("Content-Security-Policy", std::move(policy));
  response.add_header("X-Frame-Options", "DENY");
  response.add_header("Referrer-Policy", "same-origin");
  response.add_header("Cross-Origin-Opener-Policy", "same-origin");
}

void add_language_headers(Response& response, Language language) {
  response.add_header("Content-Language", std::string(to_string(language)));
  response.add_header("Vary", "Accept-Language, Cookie");
}

Page go_to(std::string path) {
  Page page;
  page.go_to = std::move(path);
  return page;
}

Page message(std::string title, const std::vector<std::string>& paragraphs, const std::string& link,
             const std::string& link_text) {
  Page page;
  page.title = std::move(title);
  Values list(Values::type::list);
  for (const std::string& paragraph : paragraphs) list.push_back(Values(paragraph));
  page.values.set("paragraphs", list);
  if (!link.empty()) {
    page.values.set("link", link);
    page.values.set("link_text", link_text);
  }
  return page;
}

std::string whereabouts_of_mail(const Visit& visit) {
  if (visit.services.environment != Environment::development) return "";
  return visit.say(
      "This berthd is in development. Without a mail server (smtp-url) the mail stays in its "
      "outbox, which `berth admin outbox` shows.");
}

namespace {

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

// Returns what is wrong with a field, for the place beside it.
std::string beside_field(const Visit& visit, const std::string& why) {
  return sentence(
      messages::reason(visit.language, why).value_or(visit.say("this value isn't allowed")));
}

// Returns the sentence about the whole form.
std::string about_form(const Visit& visit, const Error& error) {
  if (error.code == Code::validation_failed && error.details.size() > 1)
    return sentence(visit.say("some fields aren't right yet"));
  const std::string text = error.what();
  const auto field = error.details.begin();
  const bool names_field = field != error.details.end() && text.starts_with(field->first);
  if (!names_field)
    return sentence(messages::reason(visit.language, text)
                        .value_or(error.code == Code::rate_limited
                                      ? visit.say("that was too much at once; try again later")
                                      : visit.say("that didn't work")));
  if (visit.language == Language::en) {
    // The field's name is written as people write it, such as "referral code".
    std::string readable = text;
    std::replace(readable.begin(), readable.begin() + std::ptrdiff_t(field->first.size()), '_',
                 ' ');
    return sentence(readable);
  }
  const auto name = messages::field(visit.language, field->first);
  return (name ? *name + ": " : "") + beside_field(visit, field->second.front());
}

}  // namespace

Page refused(const Visit& visit, Page page, const Error& error) {
  // With 401, the browser would ask for credentials itself.
  page.status = status(error.code) == 401 ? 422 : status(error.code);
  if (error.code == Code::validation_failed)
    for (const auto& [field, reasons] : error.details)
      page.values.set("wrong_" + field, beside_field(visit, reasons.front()));
  page.values.set("error", about_form(visit, error));
  page.retry_after = error.retry_after;
  page.event = security_event_of(error);
  return page;
}

std::string program_in_words(const Visit& visit, const std::string& user_agent) {
  const std::string name = program_name(user_agent);
  if (name == "unknown") return visit.say("unknown program");
  constexpr std::string_view on = " on ";
  const size_t at = name.find(on);
  if (at == std::string::npos) return name;
  return visit.say("{browser} on {system}",
                   {{"browser", name.substr(0, at)}, {"system", name.substr(at + on.size())}});
}

std::string safe_next(const std::string& next) {
  // The path is sent in a header (Location), so line ends and other characters that no URL contains
  // are refused.
  const bool is_plain =
      std::ranges::all_of(next, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (is_plain && next.starts_with("/api/oauth/authorize?")) return next;
  // Dots could lead out of the console.
  if ((next == "/console" || next.starts_with("/console/")) && !next.contains("..")) return next;
  for (const char* page : {"/account", "/account/totp", "/account/passkeys", "/connected-apps",
                           "/device", admins_page, "/docs/api"})
    if (next == page) return next;
  return "/account";
}

std::string next_of_newcomer(const std::string& next) {
  return next.empty() ? "/console" : safe_next(next);
}

void set_focus(Page& page, std::initializer_list<const char*> fields) {
  const auto is_set = [&](const std::string& name) {
    const auto* value = page.values.get(name);
    return value != nullptr && value->is_string() && !value->string_value().empty();
  };
  const auto wrong = std::ranges::find_if(
      fields, [&](const std::string& field) { return is_set("wrong_" + field); });
  const auto empty =
      std::ranges::find_if(fields, [&](const char* field) { return !is_set(field); });
  const auto chosen = wrong != fields.end() ? wrong : empty;
  if (chosen != fields.end())
    page.values.set("focus_" + std::string(*chosen), Values(Values::type::bool_true));
}

std::string with_parameter(const std::string& path, std::string_view name, std::string_view value) {
  return redirect_to(path, {{std::string(name), std::string(value)}});
}

std::string duration_in_words(const Visit& visit, Duration time) {
  using namespace std::chrono;
  const auto in = [&](Duration unit) { return std::to_string(time / unit); };
  if (time == days(1)) return visit.say("a day");
  if (time % days(1) == Duration::zero())
    return visit.say("{count} days", {{"count", in(days(1))}});
  if (time == hours(1)) return visit.say("an hour");
  if (time % hours(1) == Duration::zero())
    return visit.say("{count} hours", {{"count", in(hours(1))}});
  return visit.say("{count} seconds", {{"count", in(seconds(1))}});
}

std::string in_words(const Visit& visit, Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::string names = visit.say(
      "January February March April May June July August September October November December");
  std::istringstream all(names);
  std::string month;
  for (unsigned i = 0; i < unsigned(date.month()); ++i) all >> month;
  const auto minutes = std::chrono::floor<std::chrono::minutes>(at - day).count();
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return visit.say("{day} {month} {year}, {time} UTC",
                   {{"day", std::to_string(unsigned(date.day()))},
                    {"month", month},
                    {"year", std::to_string(int(date.year()))},
                    {"time", two(minutes / 60) + ":" + two(minutes % 60)}});
}

void set_maker(const Visit& visit, const apps::App& app, Page& page) {
  if (app.built_in) {
    page.values.set("built_in", Values(Values::type::bool_true));
    return;
  }
  if (app.unregistered) {
    Values document(Values::type::object);
    document.set("url", app.client_id);
    if (!app.app_description.empty()) document.set("name", app.app_description);
    page.values.set("unregistered", document);
    return;
  }
  const auto owner =
      visit.services.db.read([&](db::Tx& tx) { return accounts::find(tx, app.owner_id); });
  Values maker(Values::type::object);
  maker.set("owner", owner ? owner->username : visit.say("a deleted account"));
  const std::string since = in_words(visit, app.inserted_at);
  maker.set("since", since.substr(0, since.find(',')));
  page.values.set("maker", maker);
}

std::string in_words(const Visit& visit, Scope scope) {
  switch (scope) {
    case Scope::profile_read:
      return visit.say("see your username, your tier, and when you use the app");
    case Scope::points_read:
      return visit.say("see how many points you have");
    case Scope::points_spend:
      return visit.say("spend your points, without asking you each time");
    case Scope::points_transfer:
      return visit.say("send your points to other users");
    case Scope::points_award:
      return visit.say("nothing any more: only admins can award points");
    case Scope::app_balance_read:
      return visit.say("see how many points the app itself has");
    case Scope::deploy_manage:
      return visit.say(
          "run, change and delete your app’s containers, which can cost the app’s points");
    case Scope::deploy_exec:
      return visit.say(
          "run commands in your app’s containers and connect to their ports, and so read and "
          "change "
          "everything in them");
    case Scope::deploy_read:
      return visit.say("see your app’s containers and their settings, but not their logs");
    case Scope::deploy_write:
      return visit.say(
          "start, change and delete your app’s containers, which can cost the app’s points");
    case Scope::logs_read:
      return visit.say("read the logs of your app’s containers, which may contain personal data");
    case Scope::campaigns_manage:
    case Scope::campaign_write:
      return visit.say("create and change ad campaigns of your app, which cost the app’s points");
    case Scope::openid:
      return visit.say("know that it is you, whenever you log in there");
    case Scope::profile:
      return visit.say("see your username");
    case Scope::email:
      return visit.say("see your email address, and whether you have verified it");
    case Scope::admin:
      break;  // no app can ask for it
  }
  return "";
}

Values scope_values(const Visit& visit, const ScopeSet& scopes) {
  Values list(Values::type::list);
  for (const ScopeInfo& scope : all_scopes()) {
    if (!scopes.has(scope.scope)) continue;
    Values entry(Values::type::object);
    entry.set("name", std::string(scope.name));
    entry.set("words", in_words(visit, scope.scope));
    list.push_back(entry);
  }
  return list;
}

}  // namespace berth::api::pages
