#include "controller/transport/websocket.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <string>

#include "controller/transport/request_head.h"

using namespace berth::api;
using namespace berth::api::websocket;
using namespace std::string_literals;

namespace {

Request handshake(std::initializer_list<Headers::Field> fields, std::string_view method = "GET") {
  Request request = {};
  request.method = method;
  for (const auto& [name, value] : fields) request.headers.add(name, value);
  return request;
}

// A client's frame. `first` is the first byte: 0x81 is a whole text.
std::string frame(unsigned first, std::string data, std::string mask = "abcd") {
  std::string text(1, char(first));
  if (data.size() < 126) {
    text += char(0x80 | data.size());
  } else if (data.size() < 65536) {
    text += char(0x80 | 126);
    text += char(data.size() >> 8);
    text += char(data.size() & 0xff);
  } else {
    text += char(0x80 | 127) + "\0\0\0\0"s;
    for (int shift = 24; shift >= 0; shift -= 8) text += char(data.size() >> shift & 0xff);
  }
  text += mask;
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = char(data[i] ^ mask[i % 4]);
  return text + data;
}

// What a client's bytes mean, as text; a violation as its code.
std::string meaning(const std::string& bytes, std::size_t step = 1 << 20,
                    std::size_t limit = 1000) {
  Reader reader(limit);
  std::string all;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step)
      reader.read(std::string_view(bytes).substr(at, step), [&](const Message& message) {
        all += std::to_string(int(message.kind)) + ":" + message.data +
               (message.code == 0 ? "" : "(" + std::to_string(message.code) + ")") + " ";
      });
  } catch (const Violation& violation) {
    all += std::to_string(violation.code);
  }
  return all;
}

int refusal(const Request& request) {
  try {
    accept(request);
    return 0;
  } catch (const Refusal& refused) {
    return refused.status;
  }
}

}  // namespace

TEST_CASE("a handshake is answered as the standard's example says, and bad ones are refused") {
  const Headers::Field upgrade{"Upgrade", "WebSocket"},
      connection{"Connection", "keep-alive, Upgrade"},
      key{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, version{"Sec-WebSocket-Version", "13"};
  CHECK(accept(handshake({upgrade, connection, key, version})) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(refusal(handshake({upgrade, connection, key, version}, "POST")) == 400);
  CHECK(refusal(handshake({connection, key, version})) == 400);
  CHECK(refusal(handshake({upgrade, key, version})) == 400);
  CHECK(refusal(handshake({upgrade, {"Connection", "Upgraded"}, key, version})) == 400);
  CHECK(refusal(handshake({upgrade, connection, version})) == 400);
  CHECK(refusal(handshake({upgrade, connection, key, key, version})) == 400);
  CHECK(refusal(handshake({upgrade, connection, {"Sec-WebSocket-Key", "c2hvcnQ="}, version})) ==
        400);
  CHECK(refusal(handshake({upgrade, connection, key})) == 426);
  CHECK(refusal(handshake({upgrade, connection, key, {"Sec-WebSocket-Version", "8"}})) == 426);
}

TEST_CASE("messages and control frames are read in whatever pieces they come") {
  const std::string large(70'000, 'x');
  const std::string bytes = frame(0x81, "hello") + frame(0x82, "\0\xff"s) + frame(0x01, "gr\xc3") +
                            frame(0x89, "ping") + frame(0x00, "\xbc\xc3") + frame(0x8a, "") +
                            frame(0x80,
                                  "\x9f"
                                  "e") +
                            frame(0x81, std::string(200, 'y')) + frame(0x82, large) +
                            frame(0x81, "") +
                            frame(0x88,
                                  "\x03\xe8"
                                  "bye") +
                            "ignored";
  const std::string expected = "1:hello 2:" + "\0\xff"s +
                               " 9:ping 10: 1:grüße 1:" + std::string(200, 'y') + " 2:" + large +
                               " 1: 8:bye(1000) ";
  for (const std::size_t step : {1, 2, 3, 7, 1000, 1 << 20})
    CHECK(meaning(bytes, step, large.size()) == expected);
  CHECK(meaning(frame(0x88, "")) == "8: ");
  CHECK(meaning(frame(0x81, "a") + "\x81\x02hi") == "1:a 1002");
}

TEST_CASE("whatever breaks a rule has the code that says so") {
  const std::string unmasked = "\x81\x02hi";
  for (const std::string& bytes :
       {unmasked, frame(0xc1, "x"), frame(0xa1, "x"), frame(0x91, "x"), frame(0x83, "x"),
        frame(0x8b, "x"), frame(0x80, "x"), frame(0x01, "x") + frame(0x81, "x"),
        frame(0x01, "x") + frame(0x02, "x"), frame(0x09, "x"), frame(0x08, "\x03\xe8"),
        frame(0x89, std::string(126, 'x')), frame(0x88, "\x03"), frame(0x88, "\x03\xed"),
        frame(0x88, "\x03\xe7"), frame(0x88, "\x13\x88"), "\x81\xfe\0\x05"s + "abcdhello",
        "\x81\xff\0\0\0\0\0\0\0\x05"s + "abcdhello", "\x82\xff\x80\0\0\0\0\0\0\0"s + "abcd"}) {
    INFO(bytes.substr(0, 12));
    for (const std::size_t step : {1, 1 << 20}) CHECK(meaning(bytes, std::size_t(step)) == "1002");
  }
  for (const std::string& bytes : {frame(0x81, "\xff"), frame(0x01, "\xc3") + frame(0x80, ""),
                                   frame(0x81, "\xed\xa0\x80"), frame(0x88, "\x03\xe8\xff")})
    CHECK(meaning(bytes) == "1007");
  CHECK(meaning(frame(0x82, std::string(1000, 'x'))).ends_with("xx "));
  CHECK(meaning(frame(0x82, std::string(1001, 'x'))) == "1009");
  CHECK(meaning(frame(0x02, std::string(600, 'x')) + frame(0x80, std::string(401, 'x'))) == "1009");
  // The limit counts before any data has come.
  CHECK(meaning("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"s + "abcd") == "1009");
}

TEST_CASE("what the server sends has the shortest length and no mask") {
  CHECK(encode(Kind::text, "hi") == "\x81\x02hi");
  CHECK(encode(Kind::binary, std::string(126, 'x')) == "\x82\x7e\0\x7e"s + std::string(126, 'x'));
  CHECK(encode(Kind::binary, std::string(65'536, 'x')).substr(0, 10) ==
        "\x82\x7f\0\0\0\0\0\x01\0\0"s);
  CHECK(encode(Kind::ping, "") == "\x89\0"s);
  CHECK(encode_close(going_away, "later") == "\x88\x07\x03\xe9later");
}

TEST_CASE("messages arrive whole, however they are fragmented and whatever comes between") {
  rc::check([] {
    std::string bytes, expected;
    const auto text = rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto messages = *rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(text));
    for (const std::string& message : messages) {
      const auto pieces = *rc::gen::inRange<std::size_t>(1, 5);
      const std::size_t length = message.size() / pieces;
      for (std::size_t i = 0; i < pieces; ++i) {
        const bool is_last = i + 1 == pieces;
        const auto mask = *rc::gen::container<std::string>(4, rc::gen::arbitrary<char>());
        bytes += frame((is_last ? 0x80 : 0) | (i == 0 ? 0x02 : 0x00),
                       message.substr(i * length, is_last ? std::string::npos : length), mask);
        if (is_last || !*rc::gen::arbitrary<bool>()) continue;
        bytes += frame(0x89, "p", mask);
        expected += "9:p ";
      }
      expected += "2:" + message + " ";
    }
    const auto step = *rc::gen::inRange<std::size_t>(1, 40);
    RC_ASSERT(meaning(bytes, step) == expected);
  });
}

TEST_CASE("bytes at random are messages within the limit, or a violation with one of its codes") {
  rc::check([](const std::string& noise) {
    const std::string result = meaning(frame(0x82, "a") + noise);
    RC_ASSERT(result.starts_with("2:a "));
    RC_ASSERT(meaning(frame(0x82, "a") + noise, 1) == result);
  });
}
