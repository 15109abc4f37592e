#include "api/pages/templates.h"

#include <map>
#include <stdexcept>

#include "controller/base/embedded.h"

namespace berth::api::pages {

namespace html {
const std::vector<EmbeddedFile>& files();
}

namespace {

using kainjow::mustache::mustache;

const std::string& file(const std::string& name) {
  static const std::map<std::string, std::string> by_name = [] {
    std::map<std::string, std::string> all;
    for (const EmbeddedFile& embedded : html::files()) all.emplace(embedded.name, embedded.text);
    return all;
  }();
  return by_name.at(name);
}

}  // namespace

void check_templates() {
  for (const EmbeddedFile& embedded : html::files()) {
    const std::string name(embedded.name), text(embedded.text);
    if (!name.ends_with(".mustache")) continue;
    for (const char* unescaped : {"{{{", "{{&", "{{ &", "{{=", "{{ ="})
      if (text.find(unescaped) != std::string::npos)
        throw std::logic_error(name + " leaves a value unescaped: " + unescaped);
    if (const mustache parsed(text); !parsed.is_valid())
      throw std::logic_error(name + ": " + parsed.error_message());
  }
}

std::string render(std::string_view content, Values values) {
  const std::string& inner = file(std::string(content) + ".mustache");
  values.set("content", kainjow::mustache::partial([&inner] { return inner; }));
  mustache layout(file("layout.mustache"));
  return layout.render(values);
}

const std::string& stylesheet() {
  static const std::string all = file("tokens.css") + file("pages.css");
  return all;
}

const std::string& icon() { return file("berth.svg"); }

const std::string& robots() { return file("robots.txt"); }

const std::string& install_script() { return file("install.sh"); }

}  // namespace berth::api::pages
