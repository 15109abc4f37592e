#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/console/files.h"
#include "api/transport/http.h"

// What the console and the documentation answer with.
namespace berth::api::console {

// The content security policy of their pages. Nothing inline. uPlot sets styles by script, which no
// policy forbids (CSP 3, section 6.7.3).
inline constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
// Cache-Control of files whose names change with their content.
inline constexpr const char* forever = "public, max-age=31536000, immutable";

// The forms in which a file can be sent (RFC 9110, section 8.4.1).
enum class Coding { identity, gzip, brotli };
// Returns the shortest form that a browser with this Accept-Encoding takes. An entry with q=0 is a
// refusal; other weights are not compared.
Coding coding_for(std::string_view accept_encoding);

// Returns nothing if there is no file of that name.
const File* find(const std::vector<File>& files, std::string_view name);
// Answers with the file, in the form that coding_for() chooses.
void send_file(const File& file, const Request& request, Response& response);
// Answers with a page that says what is wrong.
void refuse_page(Response& response, int status, const std::string& title, const std::string& text);

}  // namespace berth::api::console
