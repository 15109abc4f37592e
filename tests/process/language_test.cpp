// The language of the hosted pages and of mails, as browsers and programs ask for it.
#include <catch2/catch.hpp>
#include <regex>

#include "tests/process/oauth.h"

using namespace berth::process;
using Catch::Contains;

namespace {

constexpr const char* path_of_login = "/login";

// A browser that keeps cookies and wants a language.
struct Reader {
  Client client;
  std::string accepted;
  std::map<std::string, std::string> cookies;
  std::string csrf;

  Answer ask(Ask what) {
    what.headers.emplace("Accept", "text/html");
    if (!accepted.empty()) what.headers.emplace("Accept-Language", accepted);
    std::string all;
    for (const auto& [name, value] : cookies) all += (all.empty() ? "" : "; ") + name + "=" + value;
    if (!all.empty()) what.headers.emplace("Cookie", all);
    Answer answer = client.ask(what);
    for (const auto& [name, value] : answer.headers)
      if (name == "Set-Cookie")
        cookies[value.substr(0, value.find('='))] =
            value.substr(value.find('=') + 1, value.find(';') - value.find('=') - 1);
    std::smatch found;
    if (std::regex_search(answer.text, found, std::regex("name=\"csrf\" value=\"([^\"]+)\"")))
      csrf = found[1];
    return answer;
  }
  Answer open(const std::string& path) { return ask({.method = "GET", .path = path}); }
  Answer send(const std::string& path, Form fields) {
    fields.emplace("csrf", csrf);
    return ask({.method = "POST",
                .path = path,
                .body = form_encoded(fields),
                .headers = {{"Content-Type", "application/x-www-form-urlencoded"}}});
  }
};

const Flags unlimited = {"--rate-limits", "off"};

Reader reader(const std::string& accepted = {}) {
  return {
      .client = Client(shared_berthd(unlimited)), .accepted = accepted, .cookies = {}, .csrf = {}};
}

void check_language(const Answer& answer, const std::string& language) {
  INFO(answer.question);
  CHECK(answer.header("Content-Language") == language);
  CHECK_THAT(answer.text, Contains("<html lang=\"" + language + "\">"));
  CHECK_THAT(answer.header("Vary"), Contains("Accept-Language") && Contains("Cookie"));
}

// Returns the newest mail to the address.
json mail_to(const Berthd& berthd, const std::string& address) {
  const Answer answer = expect(200, Client(berthd).get("/api/internal/outbox", admin(berthd)));
  for (const json& mail : answer.body.at("messages"))
    if (mail.at("to") == address) return mail;
  return nullptr;
}

}  // namespace

TEST_CASE("pages are in the language of the browser, and English if there is none") {
  for (const char* path : {path_of_login, "/register", "/forgot-password", "/", "/no-such-page"}) {
    Reader german = reader("de-AT,de;q=0.9,en;q=0.5"), french = reader("fr"), nobody = reader();
    check_language(german.open(path), "de");
    check_language(french.open(path), "en");
    check_language(nobody.open(path), "en");
  }
  Reader german = reader("de");
  CHECK_THAT(german.open(path_of_login).text, Contains("Passwort vergessen?"));
}

TEST_CASE("a language is chosen at the foot of a page, for a year, and leads back to it") {
  Reader browser = reader("en");
  const Answer login = browser.open("/login?next=/device");
  CHECK_THAT(login.text, Contains("name=\"next\" value=\"/login?next=/device\""));
  const Answer chosen =
      expect(303, browser.send("/language", {{"language", "de"}, {"next", "/login?next=/device"}}));
  CHECK(chosen.header("Location") == "/login?next=/device");
  const std::string cookie = chosen.header("Set-Cookie");
  CHECK_THAT(cookie, Contains("berth_language=de") && Contains("SameSite=Lax") &&
                         Contains("Max-Age=31536000") && !Contains("HttpOnly"));
  check_language(browser.open(path_of_login), "de");
  // After a form, the choice leads to the page that the form is on.
  const Answer wrong =
      browser.send(path_of_login, {{"email", "x"}, {"password", "y"}, {"next", "/device"}});
  check_language(wrong, "de");
  CHECK_THAT(wrong.text, Contains("Die Adresse oder das Passwort ist falsch."));
  CHECK_THAT(wrong.text, Contains("value=\"/login?next=%2Fdevice\""));
  browser.open("/reset-password?token=pr_1");
  const Answer reset = browser.send("/reset-password", {{"token", "pr_1"}, {"password", "short"}});
  CHECK_THAT(reset.text, Contains("value=\"/reset-password?token=pr_1\""));
}

TEST_CASE("attack: what is no language, and no page, chooses and opens none") {
  Reader browser = reader("de");
  browser.open(path_of_login);
  for (const char* next :
       {"https://evil.example/", "//evil.example/", "/\\evil.example", "/nowhere", "/login\r\nX: y",
        "", "javascript:alert(1)", "/api/internal/users"}) {
    INFO(next);
    CHECK(expect(303, browser.send("/language", {{"language", "en"}, {"next", next}}))
              .header("Location") == "/");
  }
  const Answer unknown = browser.send("/language", {{"language", "xx"}, {"next", path_of_login}});
  CHECK(unknown.status == 422);
  CHECK_FALSE(unknown.has_header("Set-Cookie"));
  browser.cookies["berth_language"] = "<script>";
  check_language(browser.open(path_of_login), "de");
  Reader foreign = reader("de");
  foreign.open(path_of_login);
  foreign.csrf = "guessed";
  const Answer refused = foreign.send("/language", {{"language", "en"}, {"next", "/"}});
  CHECK(refused.status == 403);
  CHECK(foreign.cookies.count("berth_language") == 0);
}

TEST_CASE("attack: ten kilobytes of Accept-Language") {
  std::string ranges = "de";
  while (ranges.size() < 10'000) ranges += ",xx;q=0.001";
  Reader browser = reader(ranges);
  const Answer answer = browser.open(path_of_login);
  // The server may refuse such a header, and otherwise reads its beginning.
  if (answer.status == 200) check_language(answer, "de");
  CHECK((answer.status == 200 || answer.status == 431));
}

TEST_CASE("a form's errors are in the page's language, and the API's stay English") {
  const Berthd& berthd = shared_berthd(unlimited);
  const User taken = register_user(berthd, fresh_name("taken"));
  Reader browser = reader("de");
  browser.open("/register");
  const auto sent = [&](const std::string& email, const std::string& name,
                        const std::string& password) {
    return browser.send("/register",
                        {{"email", email}, {"username", name}, {"password", password}});
  };
  const Answer one = sent(taken.email, fresh_name("free"), "four words no machine guesses");
  CHECK_THAT(one.text, Contains("E-Mail-Adresse: Das ist schon vergeben."));
  const Answer several = sent("nowhere", "x", "Summer2026!");
  CHECK_THAT(several.text, Contains("Einige Felder stimmen noch nicht."));
  CHECK_THAT(several.text, Contains("Das muss 2 bis 32 Zeichen haben."));
  CHECK_THAT(several.text, Contains("Das Passwort ist leicht zu erraten"));
  const Answer api = Client(berthd).post("/api/auth/register",
                                         {{"email", taken.email},
                                          {"username", fresh_name("free")},
                                          {"password", "four words no machine guesses"}},
                                         {{"Accept-Language", "de"}});
  CHECK_THAT(api.text, Contains("has already been taken"));
}

TEST_CASE("who registers gets mails in their language, and changes it by a page or the API") {
  const Berthd& berthd = shared_berthd(unlimited);
  const std::string name = fresh_name("grete"), email = name + "@example.org",
                    password = "four words no machine guesses";
  Reader browser = reader("de");
  browser.open("/register");
  expect(303,
         browser.send("/register", {{"email", email}, {"username", name}, {"password", password}}));
  CHECK(mail_to(berthd, email).at("subject") == "Bestätigen Sie Ihre E-Mail-Adresse");
  const User user =
      log_in(berthd, {.id = {}, .email = email, .username = name, .password = password, .jwt = {}});
  Client api(berthd, user.jwt);
  CHECK(api.get("/api/auth/me").body.at("user").at("language") == "de");
  check_language(browser.open("/account"), "de");
  expect(303, browser.send("/language", {{"language", "en"}, {"next", "/account"}}));
  CHECK(api.get("/api/auth/me").body.at("user").at("language") == "en");
  const auto change = [&](const json& body) {
    return api.ask({.method = "PATCH",
                    .path = "/api/auth/me",
                    .body = body.dump(),
                    .headers = {{"Content-Type", "application/json"}}});
  };
  const Answer changed = expect(200, change({{"language", "de"}}));
  CHECK(changed.body.at("user").at("language") == "de");
  CHECK(changed.body.at("user").at("username") == name);
  CHECK(change({{"language", "xx"}}).status == 422);
  CHECK(change(json::object()).status == 422);

  const std::string other = fresh_name("hans");
  expect(201, Client(berthd).post(
                  "/api/auth/register",
                  {{"email", other + "@example.org"}, {"username", other}, {"password", password}},
                  {{"Accept-Language", "de-CH"}}));
  CHECK(mail_to(berthd, other + "@example.org").at("subject") ==
        "Bestätigen Sie Ihre E-Mail-Adresse");
}
