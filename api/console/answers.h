#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/console/files.h"
#include "api/gate/language.h"
#include "controller/transport/http.h"

// Answers to browsers that load the console or the documentation. All functions are thread-safe.
namespace berth::api::console {

// The content security policy of the pages of both. It allows no inline scripts and styles. uPlot,
// which draws the console's plots, sets properties of `element.style`; style-src doesn't concern
// these (CSP 3, directive style-src).
inline constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
// Cache-Control of files whose names change with their content.
inline constexpr const char* forever = "public, max-age=31536000, immutable";

// The forms in which a file can be sent (RFC 9110, section 8.4.1).
enum class Coding { identity, gzip, brotli };
// Returns the shortest form that a browser with this Accept-Encoding takes: brotli before gzip. An
// entry with q=0 is a refusal; other weights aren't compared.
Coding coding_for(std::string_view accept_encoding);

// Returns the file with that name, or null if there is none. The pointer refers to `files`.
const File* find(const std::vector<File>& files, std::string_view name);
// Answers with the file, in the form that coding_for() chooses. Sets no status and no
// Cache-Control.
void send_file(const File& file, const Request& request, Response& response);
// Answers with a page that says what is wrong, with texts in the language. The page isn't cached.
void refuse_page(Response& response, int status, Language language, const std::string& title,
                 const std::string& text);

}  // namespace berth::api::console
