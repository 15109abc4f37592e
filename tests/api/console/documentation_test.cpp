// What is served under /docs.
#include "api/console/documentation.h"

#include <catch2/catch.hpp>

#include "api/console/files.h"

using namespace berth::api;
using namespace berth::api::console;

namespace {

std::optional<Response> ask_docs(std::string_view path, std::string_view method = "GET",
                                 std::string_view accept_encoding = "") {
  Request request;
  request.method = method;
  request.path = path;
  if (!accept_encoding.empty()) request.headers.add("Accept-Encoding", accept_encoding);
  Response response;
  if (!answer_documentation(request, response)) return std::nullopt;
  return response;
}

std::string field_of(const Response& response, std::string_view name) {
  for (const auto& [field, value] : response.headers)
    if (same_name(field, name)) return value;
  return "";
}

bool is_built() { return !documentation().empty(); }

}  // namespace

TEST_CASE("documentation: only /docs and what is below it are its addresses") {
  for (const char* path : {"/", "/doc", "/docsy", "/documentation", "/console", "/api/docs"})
    CHECK_FALSE(ask_docs(path));
  CHECK(ask_docs("/docs"));
  CHECK(ask_docs("/docs/nothing"));
}

TEST_CASE("documentation: pages need no login, and no inline code runs on them") {
  if (!is_built()) {
    CHECK(ask_docs("/docs")->status == 404);
    return;
  }
  for (const char* path : {"/docs", "/docs/api", "/docs/guides/sre", "/docs/reference/errors"}) {
    INFO(path);
    const auto page = ask_docs(path);
    REQUIRE(page);
    CHECK(page->status == 200);
    CHECK(page->content_type == "text/html; charset=utf-8");
    const std::string policy = field_of(*page, "Content-Security-Policy");
    CHECK(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
    CHECK_FALSE(policy.contains("unsafe"));
    CHECK(field_of(*page, "Cache-Control") == "no-cache");
  }
}

TEST_CASE("documentation: names of files lead to their pages, and nothing else is found") {
  if (!is_built()) return;
  const auto leads = [](const char* path, const std::string& place) {
    INFO(path);
    const auto answer = ask_docs(path);
    REQUIRE(answer);
    CHECK(answer->status == 308);
    CHECK(field_of(*answer, "Location") == place);
  };
  leads("/docs/", "/docs");
  leads("/docs/guides/sre.md", "/docs/guides/sre");
  leads("/docs/guides/sre.html", "/docs/guides/sre");
  leads("/docs/guides/sre/", "/docs/guides/sre");
  leads("/docs/decisions/README.md", "/docs/decisions");
  for (const char* path : {"/docs/nothing", "/docs/assets/nothing", "/docs/../console",
                           "/docs//evil.example", "/docs//", "/docs/assets/", "/docs/guides"}) {
    INFO(path);
    const auto answer = ask_docs(path);
    REQUIRE(answer);
    CHECK((answer->status == 404 || field_of(*answer, "Location") == "/docs"));
  }
}

TEST_CASE(
    "documentation: what pages load is cached for good, and smaller where browsers allow it") {
  if (!is_built()) return;
  for (const File& file : documentation()) {
    if (!file.name.starts_with("assets/") || file.content_type == "image/png") continue;
    INFO(file.name);
    const auto answer = ask_docs("/docs/" + std::string(file.name), "GET", "br");
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(field_of(*answer, "Cache-Control").contains("immutable"));
    CHECK(field_of(*answer, "Content-Encoding") == "br");
    CHECK(answer->body.size() < file.content.size());
  }
}

TEST_CASE("documentation: pictures are sent as they are, since they are compressed already") {
  if (!is_built()) return;
  const std::string html(ask_docs("/docs/tour")->body);
  const size_t from = html.find("src=\"/docs/assets/start-") + 5;
  const auto picture = ask_docs(html.substr(from, html.find('"', from) - from), "GET", "br, gzip");
  REQUIRE(picture);
  CHECK(picture->status == 200);
  CHECK(picture->content_type == "image/png");
  CHECK(field_of(*picture, "Content-Encoding").empty());
  CHECK(picture->body.starts_with("\x89PNG"));
}

TEST_CASE("documentation: requests that would change something are refused") {
  const auto answer = ask_docs("/docs", "POST");
  REQUIRE(answer);
  CHECK(answer->status == 405);
  CHECK(field_of(*answer, "Allow") == "GET, HEAD");
}
