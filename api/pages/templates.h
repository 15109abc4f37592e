#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

// The HTML of the hosted pages: Mustache templates in html/, where {{name}} is a value with & < > "
// and ' escaped. Templates put values into text and into double-quoted attributes alone, and have
// no way to leave one unescaped: {{{name}}}, {{&name}} and other delimiters stop the start.
namespace berth::api::pages {

using Values = kainjow::mustache::data;

// Throws std::logic_error where a template could leave a value unescaped, or can't be parsed.
void check_templates();
// `content` is the name of a template without its ending; it stands inside the layout, and both
// see `values`.
std::string render(std::string_view content, Values values);
const std::string& stylesheet();

}  // namespace berth::api::pages
