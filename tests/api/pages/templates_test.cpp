// The templates of the hosted pages.
#include "api/pages/templates.h"

#include <catch2/catch.hpp>
#include <iostream>
#include <regex>
#include <set>

#include "controller/base/crypto.h"
#include "controller/base/embedded.h"

namespace berth::api::pages::html {
const std::vector<EmbeddedFile>& files();
}

namespace {

using namespace berth;

// Values that nobody but berth has written: its own sentences and numbers, and what browsers get in
// hidden fields. All other ones are in a <bdi> or in an attribute.
const std::set<std::string> own_words = {"title",
                                         "error",
                                         "done",
                                         ".",
                                         "link_text",
                                         "second_link_text",
                                         "points",
                                         "tier",
                                         "referral_code",
                                         "address",
                                         "since",
                                         "last_used",
                                         "lasts",
                                         "today",
                                         "words",
                                         "name",
                                         "user_code",
                                         "asked_at",
                                         "codes_left",
                                         "passkeys",
                                         "secret",
                                         "wrong_email",
                                         "wrong_username",
                                         "wrong_password",
                                         "wrong_referral_code",
                                         "language_name",
                                         "whereabouts",
                                         "price",
                                         "memory",
                                         "cpu",
                                         "keys"};

TEST_CASE("a page names its language, whoever renders it") {
  const api::pages::Values values(api::pages::Values::type::object);
  for (const auto& [language, code] : {std::pair{Language::en, "en"}, {Language::de, "de"}}) {
    const std::string html = api::pages::render("message", language, values);
    CHECK(html.find("<html lang=\"" + std::string(code) + "\">") != std::string::npos);
  }
}

TEST_CASE("every text of the pages that somebody has written has a direction of its own") {
  size_t isolated = 0, own = 0, attributes = 0;
  const std::regex value(R"(\{\{([\w.]+)\}\})");
  for (const EmbeddedFile& file : api::pages::html::files()) {
    const std::string text(file.text);
    if (!std::string(file.name).ends_with(".mustache")) continue;
    for (auto found = std::sregex_iterator(text.begin(), text.end(), value);
         found != std::sregex_iterator(); ++found) {
      const std::string before = text.substr(0, size_t(found->position())), name = (*found)[1];
      INFO(file.name << " " << name);
      const size_t open = before.rfind('<'), close = before.rfind('>');
      const bool in_tag = open != std::string::npos && (close == std::string::npos || open > close);
      if (in_tag) {
        ++attributes;
      } else if (before.ends_with("<bdi>")) {
        ++isolated;
      } else {
        CHECK(own_words.contains(name));
        ++own;
      }
    }
  }
  std::cout << "values of pages: " << isolated << " isolated, " << own << " berth's own, "
            << attributes << " in attributes\n";
  CHECK(isolated >= 20);
}

TEST_CASE("the policy names exactly the script that the page of receipts has, in each language") {
  const api::pages::Values values(api::pages::Values::type::object);
  for (const Language language : {Language::en, Language::de}) {
    const std::string html = api::pages::render("verify_receipt", language, values);
    const std::string opens = "<script>";
    const size_t begin = html.find(opens) + opens.size();
    const size_t end = html.find("</script>");
    REQUIRE(end != std::string::npos);
    CHECK(html.find("<script", begin) == std::string::npos);
    CHECK(base64(sha256(html.substr(begin, end - begin))) ==
          api::pages::hash_of_script("verify_receipt"));
  }
}

TEST_CASE("the policy names exactly the script of each page that asks for passkeys") {
  api::pages::Values values(api::pages::Values::type::object);
  for (const char* shown : {"has_passkey_login", "has_passkeys"})
    values.set(shown, api::pages::Values(api::pages::Values::type::bool_true));
  for (const Language language : {Language::en, Language::de})
    for (const char* page : {"login", "login_code", "new_passkey", "prove_totp"}) {
      INFO(page);
      const std::string html = api::pages::render(page, language, values);
      const std::string opens = "<script>";
      REQUIRE(html.find(opens) != std::string::npos);
      const size_t begin = html.find(opens) + opens.size();
      const size_t end = html.find("</script>");
      REQUIRE(end != std::string::npos);
      CHECK(html.find("<script", begin) == std::string::npos);
      CHECK(base64(sha256(html.substr(begin, end - begin))) ==
            api::pages::hash_of_script("passkey_script"));
    }
}

TEST_CASE("pages have no script where there are no passkeys") {
  const api::pages::Values values(api::pages::Values::type::object);
  for (const char* page : {"login", "login_code", "prove_totp", "account", "passkeys"})
    CHECK(api::pages::render(page, Language::en, values).find("<script") == std::string::npos);
}

}  // namespace
