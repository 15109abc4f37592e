#include "api/pages/templates.h"

#include <map>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/embedded.h"

namespace berth::api::pages {

namespace html {
const std::vector<EmbeddedFile>& files();
}

namespace {

using kainjow::mustache::mustache;

constexpr std::string_view ending = ".mustache";

const std::string& file(const std::string& name) {
  static const std::map<std::string, std::string> by_name = [] {
    std::map<std::string, std::string> all;
    for (const EmbeddedFile& embedded : html::files()) all.emplace(embedded.name, embedded.text);
    return all;
  }();
  return by_name.at(name);
}

// Returns the template with the texts of the language in place of [[…]]. Throws std::logic_error if
// one isn't closed.
std::string translated(std::string_view text, Language language) {
  constexpr std::string_view opens = "[[", closes = "]]";
  std::string result;
  while (true) {
    const size_t open = text.find(opens);
    result += text.substr(0, open);
    if (open == std::string_view::npos) return result;
    const size_t close = text.find(closes, open);
    if (close == std::string_view::npos)
      throw std::logic_error("a text of a template isn't closed: " +
                             std::string(text.substr(open, 40)));
    const size_t begin = open + opens.size();
    result += messages::say(language, text.substr(begin, close - begin));
    text.remove_prefix(close + closes.size());
  }
}

const std::string& page_template(Language language, const std::string& name) {
  using Named = std::map<std::string, std::string>;
  static const std::map<Language, Named> by_language = [] {
    std::map<Language, Named> all;
    for (const Language one : all_languages)
      for (const EmbeddedFile& embedded : html::files())
        if (embedded.name.ends_with(ending))
          all[one].emplace(embedded.name, translated(embedded.text, one));
    return all;
  }();
  return by_language.at(language).at(name);
}

void check(const std::string& name, const std::string& text) {
  for (const char* unescaped : {"{{{", "{{&", "{{ &", "{{=", "{{ ="})
    if (text.find(unescaped) != std::string::npos)
      throw std::logic_error(name + " leaves a value unescaped: " + unescaped);
  if (const mustache parsed(text); !parsed.is_valid())
    throw std::logic_error(name + ": " + parsed.error_message());
}

}  // namespace

void check_templates() {
  for (const Language language : all_languages)
    for (const EmbeddedFile& embedded : html::files())
      if (const std::string name(embedded.name); name.ends_with(ending))
        check(name + " (" + std::string(to_string(language)) + ")", page_template(language, name));
}

std::string render(std::string_view content, Language language, Values values) {
  const std::string& inner = page_template(language, std::string(content) + std::string(ending));
  values.set("language", std::string(to_string(language)));
  values.set("content", kainjow::mustache::partial([&inner] { return inner; }));
  // What several pages have in common.
  for (const char* name : {"passkey_login", "passkey_script"})
    values.set(name,
               kainjow::mustache::partial(
                   [&text = page_template(language, name + std::string(ending))] { return text; }));
  mustache layout(page_template(language, "layout.mustache"));
  return layout.render(values);
}

std::string hash_of_script(std::string_view content) {
  constexpr std::string_view opens = "<script>", closes = "</script>";
  const std::string& text = file(std::string(content) + std::string(ending));
  const size_t open = text.find(opens), close = text.find(closes);
  if (open == std::string::npos || close == std::string::npos)
    throw std::logic_error("the template " + std::string(content) + " has no script");
  const size_t begin = open + opens.size();
  return base64(sha256(std::string_view(text).substr(begin, close - begin)));
}

const std::string& stylesheet() {
  static const std::string all = file("tokens.css") + file("pages.css");
  return all;
}

const std::string& icon() { return file("berth.svg"); }

const std::string& robots() { return file("robots.txt"); }

const std::string& install_script() { return file("install.sh"); }

}  // namespace berth::api::pages
