#include "api/console/answers.h"

#include <algorithm>

#include "api/gate/list_field.h"
#include "api/pages/page.h"
#include "api/pages/templates.h"

namespace berth::api::console {

Coding coding_for(std::string_view accept_encoding) {
  Coding best = Coding::identity;
  for (const ContentCoding& coding : content_codings(accept_encoding)) {
    if (!coding.wanted) continue;
    if (same_name(coding.name, "br")) best = Coding::brotli;
    if (same_name(coding.name, "gzip") && best == Coding::identity) best = Coding::gzip;
  }
  return best;
}

const File* find(const std::vector<File>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &File::name);
  return found == files.end() ? nullptr : &*found;
}

void send_file(const File& file, const Request& request, Response& response) {
  response.content_type = file.content_type;
  response.add_header("Vary", "Accept-Encoding");
  const Coding coding =
      file.gzip.empty() ? Coding::identity : coding_for(request.headers.get("Accept-Encoding"));
  if (coding != Coding::identity)
    response.add_header("Content-Encoding", coding == Coding::gzip ? "gzip" : "br");
  response.body = coding == Coding::identity ? file.content
                  : coding == Coding::gzip   ? file.gzip
                                             : file.brotli;
}

void refuse_page(Response& response, int status, Language language, const std::string& title,
                 const std::string& text) {
  response.status = status;
  pages::add_security_headers(
      response,
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
      "frame-ancestors 'none'");
  response.add_header("Cache-Control", "no-store");
  response.content_type = "text/html; charset=utf-8";
  pages::Values values(pages::Values::type::object), paragraphs(pages::Values::type::list);
  paragraphs.push_back(pages::Values(text));
  values.set("title", title);
  values.set("paragraphs", paragraphs);
  pages::add_language_headers(response, language);
  response.body = pages::render("message", language, values);
}

}  // namespace berth::api::console
