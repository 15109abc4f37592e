// What is served under /console.
#include "api/console/console.h"

#include <catch2/catch.hpp>

#include "api/console/answers.h"

using namespace berth::api;
using namespace berth::api::console;

namespace {

Response ask(std::string_view method, std::string_view path, std::string_view cookie = "",
             std::string_view accept_encoding = "") {
  Request request;
  request.method = method;
  request.path = path;
  if (!cookie.empty()) request.headers.add("Cookie", cookie);
  if (!accept_encoding.empty()) request.headers.add("Accept-Encoding", accept_encoding);
  Response response;
  REQUIRE(Console("http://127.0.0.1:8080").handle(request, response));
  return response;
}

std::string header(const Response& response, std::string_view name) {
  for (const auto& [field, value] : response.headers)
    if (same_name(field, name)) return value;
  return "";
}

}  // namespace

TEST_CASE("a browser gets the shortest form that it takes") {
  CHECK(coding_for("") == Coding::identity);
  CHECK(coding_for("identity") == Coding::identity);
  CHECK(coding_for("gzip, deflate") == Coding::gzip);
  CHECK(coding_for("gzip;q=0.5, BR") == Coding::brotli);
  CHECK(coding_for("br;q=0, gzip") == Coding::gzip);
  CHECK(coding_for("br ; q=0.000,gzip ;q=0") == Coding::identity);
  CHECK(coding_for("brotli, x-gzip") == Coding::identity);
  CHECK(coding_for(",,;,") == Coding::identity);
}

TEST_CASE("only /console and what is below it is the console's") {
  Request request;
  request.method = "GET";
  for (const char* path : {"/", "/consoles", "/console.js", "/api/console", "/assets/pages.css"}) {
    request.path = path;
    Response response;
    CHECK_FALSE(Console("http://127.0.0.1:8080").handle(request, response));
  }
}

TEST_CASE("a file that isn't there is 404, and other methods are 405") {
  for (const char* path : {"/console/assets/none.js", "/console/assets/",
                           "/console/assets/index.html", "/console/assets/../index.html"})
    CHECK(ask("GET", path).status == 404);
  const Response posted = ask("POST", "/console");
  CHECK(posted.status == 405);
  CHECK(header(posted, "Allow") == "GET, HEAD");
}

TEST_CASE("the page is for those who are logged in, and allows nothing inline") {
  if (files().empty()) {  // built without the console
    CHECK(ask("GET", "/console").status == 404);
    return;
  }
  const Response stranger = ask("GET", "/console/deployments/1");
  CHECK(stranger.status == 303);
  CHECK(header(stranger, "Location") == "/login?next=%2Fconsole%2Fdeployments%2F1");
  const Response page = ask("GET", "/console/deployments/1", "berth_session=x", "gzip, br");
  CHECK(page.status == 200);
  CHECK(header(page, "Content-Encoding") == "br");
  CHECK(header(page, "Vary") == "Accept-Encoding");
  CHECK(header(page, "Cache-Control") == "no-cache");
  CHECK(header(page, "Content-Security-Policy").find("script-src 'self';") != std::string::npos);
  CHECK(header(page, "Content-Security-Policy").find("unsafe") == std::string::npos);
}

TEST_CASE("files that the page loads are cached for good") {
  for (const File& file : files()) {
    if (file.name == "index.html") continue;
    const Response response = ask("GET", "/console/assets/" + std::string(file.name));
    CHECK(response.status == 200);
    CHECK(header(response, "Cache-Control") == "public, max-age=31536000, immutable");
    CHECK(header(response, "Content-Encoding").empty());
    CHECK(response.body == file.content);
    constexpr size_t too_small_to_compress = 256;
    if (file.content.size() < too_small_to_compress) continue;
    CHECK(file.gzip.size() < file.content.size());
    CHECK(file.brotli.size() < file.gzip.size());
  }
}
