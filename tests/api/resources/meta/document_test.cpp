#include "api/resources/meta/document.h"

#include <zlib.h>

#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string path = "/.well-known/openapi.json";

std::string decompressed(const std::string& bytes, size_t most) {
  constexpr int gzip_window_bits = MAX_WBITS + 16;
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, gzip_window_bits) == Z_OK);
  std::string result(most, '\0');
  std::string input = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

TEST_CASE("the document comes compressed to those who accept it, with an ETag of its own") {
  GateWorld g;
  const Answered plain = g.ask("GET", path);
  REQUIRE(plain.status == 200);
  CHECK_FALSE(plain.has("Content-Encoding"));
  CHECK(plain.header("Vary") == "Accept-Encoding");
  const Response gzip = g.respond("GET", path, {{"Accept-Encoding", "br, gzip"}});
  REQUIRE(gzip.status == 200);
  CHECK(gzip.body.size() * 5 < plain.text.size());
  CHECK(decompressed(gzip.body, 2 * plain.text.size()) == plain.text);
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::count(gzip.headers.begin(), gzip.headers.end(), std::pair(name, value)) == 1;
  };
  CHECK(has("Content-Encoding", "gzip"));
  CHECK(has("Vary", "Accept-Encoding"));
  CHECK_FALSE(has("ETag", plain.header("ETag")));
}

TEST_CASE("a client that has the document gets 304 without a body") {
  GateWorld g;
  const std::string etag = g.ask("GET", path).header("ETag");
  REQUIRE(etag.starts_with('"'));
  const Response same = g.respond("GET", path, {{"If-None-Match", "\"old\", W/" + etag}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  const auto sent = std::pair(std::string("ETag"), etag);
  CHECK(std::count(same.headers.begin(), same.headers.end(), sent) == 1);
  CHECK(g.respond("GET", path, {{"If-None-Match", "\"old\""}}).status == 200);
  // It has the other encoding's bytes.
  CHECK(g.respond("GET", path, {{"If-None-Match", etag}, {"Accept-Encoding", "gzip"}}).status ==
        200);
}

TEST_CASE("Accept-Encoding says whether gzip is wanted") {
  for (const char* field :
       {"gzip", "GZip", "x-gzip", "br;q=1.0, gzip;q=0.8", "*", "deflate , gzip ; q=1"})
    CHECK(accepts_gzip(field));
  for (const char* field : {"", "identity", "gzip;q=0", "gzip; q=0.000", "*;q=0", "gzipped", "br,"})
    CHECK_FALSE(accepts_gzip(field));
  CHECK_FALSE(accepts_gzip("*, gzip;q=0"));
}

TEST_CASE("If-None-Match names an ETag in a list, weakly, or any") {
  for (const char* field : {"\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " \"a\" "})
    CHECK(names_etag(field, "\"a\""));
  for (const char* field : {"", "\"b\"", "a", "\"a", "\"A\""})
    CHECK_FALSE(names_etag(field, "\"a\""));
}

}  // namespace
