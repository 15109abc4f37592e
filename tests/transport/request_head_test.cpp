#include "controller/transport/request_head.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <string>

using namespace berth::api;

namespace {

bool is_inside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// Generates texts from the pieces that decide how a head is parsed.
rc::Gen<std::string> almost_head() {
  const auto piece = rc::gen::element<std::string>(
      "GET", "POST", " ", "/", "/a?b=c", "*", "http://h", "HTTP/1.1", "HTTP/1.0", "\r\n", "\n",
      "\r", "Host: h", "Content-Length: 5", "Transfer-Encoding: chunked", "Connection: close", ":",
      "x", std::string("\0", 1), "\xff", "%", "%41", "Expect: 100-continue");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& one : pieces) text += one;
                        return text + "\r\n\r\n";
                      });
}

}  // namespace

TEST_CASE("any text is either refused or parsed into parts of itself") {
  CHECK(rc::check([] {
    const std::string text = *almost_head();
    try {
      std::size_t scanned = 0;
      const std::size_t size = head_size(text, scanned);
      RC_ASSERT(size > 0U && size <= text.size());
      const std::string_view head = std::string_view(text).substr(0, size);
      Request request;
      const RequestHead parsed = parse_head(head, request);
      RC_ASSERT(is_inside(request.method, head) && is_inside(request.path, head));
      RC_ASSERT(is_inside(request.host, head));
      for (const auto& [name, value] : request.headers) {
        RC_ASSERT(is_field_name(name) && is_field_value(value));
        RC_ASSERT(is_inside(name, head) && is_inside(value, head));
      }
      const bool ambiguous = request.headers.find("Content-Length").has_value() &&
                             request.headers.find("Transfer-Encoding").has_value();
      RC_ASSERT(!ambiguous);
      RC_ASSERT((parsed.framing == Framing::none) == (!request.headers.find("Content-Length") &&
                                                      !request.headers.find("Transfer-Encoding")));
    } catch (const Refusal& refusal) {
      RC_ASSERT(refusal.status >= 400 && refusal.status <= 599);
    }
  }));
}

TEST_CASE("the end of a head doesn't depend on how it arrives") {
  CHECK(rc::check([] {
    const std::string head = "GET / HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
    const std::string text = head + *rc::gen::arbitrary<std::string>();
    std::size_t scanned = 0;
    std::size_t arrived = 0;
    std::size_t size = 0;
    while (size == 0) {
      arrived = std::min(text.size(), arrived + *rc::gen::inRange<std::size_t>(1, 9));
      size = head_size(std::string_view(text).substr(0, arrived), scanned);
    }
    RC_ASSERT(size == head.size());
  }));
}

TEST_CASE("a form's fields are decoded, and one that isn't encoded refuses the form") {
  const auto form = parse_form("a=1&&b&=c&a=2=3&%61=4");
  REQUIRE(form);
  CHECK(form->count("a") == 3);
  CHECK(form->find("a")->second == "1");
  CHECK(form->find("b")->second.empty());
  CHECK(form->find("")->second == "c");
  CHECK_FALSE(parse_form("a=%"));
}
