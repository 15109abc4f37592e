#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

#include "controller/domain/kernel/messages.h"

// The HTML of the hosted pages: Mustache templates in html/, where {{name}} is replaced by a value
// with & < > " and ' escaped. Templates put values only into text and into double-quoted
// attributes. [[…]] encloses a text, which may have markup and values in it: it is replaced by the
// one of the page's language (kernel/messages.h). Templates can't leave a value unescaped:
// {{{name}}}, {{&name}} and other delimiters keep berthd from starting.
namespace berth::api::pages {

using Values = kainjow::mustache::data;

// Throws std::logic_error if a template could leave a value unescaped or can't be parsed.
void check_templates();
// Returns the HTML of a page in the language: the template `content`, named without its ending,
// inside the layout. Both see `values`, and the language's code as `language`.
std::string render(std::string_view content, Language language, Values values);
// The SHA-256 of the script in the template, in base64, as a Content-Security-Policy names it (CSP
// Level 3, section 2.3.1). The script has neither values nor texts in it, so it is the same in each
// language.
std::string hash_of_script(std::string_view content);
const std::string& stylesheet();
// The picture that browsers show beside the page's title.
const std::string& icon();
// robots.txt, which says what crawlers must leave out (RFC 9309).
const std::string& robots();
// The script that installs the client, with %BASE_URL% in place of the platform's address.
const std::string& install_script();

}  // namespace berth::api::pages
