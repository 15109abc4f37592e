#include "controller/base/url.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;

TEST_CASE("the parts of a URL") {
  const Url url = parse_url("HTTPS://ada:p%40ss@Game.Example.org:8443/a;b?c=d#e").value();
  CHECK(url.scheme == "https");
  CHECK(url.user == "ada");
  CHECK(url.password == "p@ss");
  CHECK(url.has_user());
  CHECK(url.host == "game.example.org");
  CHECK(url.port == 8443);
  CHECK(url.rest == "/a;b?c=d#e");
  CHECK(url.authority() == "game.example.org:8443");
  CHECK(url.origin() == "https://game.example.org:8443");
  CHECK(url.is_web());
  const Url plain = parse_url("smtp://mail").value();
  CHECK(plain.host == "mail");
  CHECK(plain.port == 0);
  CHECK(plain.rest.empty());
  CHECK(plain.origin() == "smtp://mail");
  CHECK_FALSE(plain.has_user());
  CHECK_FALSE(plain.is_web());
}

TEST_CASE("hosts that a URL may name") {
  const std::string label(63, 'a');
  const std::pair<std::string, std::string> hosts[] = {
      {"example.org", "example.org"},
      {"EXAMPLE.org", "example.org"},
      {"a-b.1c.example", "a-b.1c.example"},
      {"localhost", "localhost"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"b\u00fccher.example", "xn--bcher-kva.example"},
      {"192.0.2.1", "192.0.2.1"},
      {"[2001:db8::1]", "[2001:db8::1]"},
      {"[2001:DB8:0:0:0:0:0:1]", "[2001:db8:0:0:0:0:0:1]"},
      {"[::ffff:192.0.2.1]", "[::ffff:192.0.2.1]"},
      {label + ".example", label + ".example"}};
  for (const auto& [written, read] : hosts) {
    for (const std::string rest : {"", "/", "/a:b@c", "?x", "#x"}) {
      INFO(written << rest);
      REQUIRE(parse_url("https://" + written + rest));
      CHECK(parse_url("https://" + written + rest)->host == read);
      CHECK(parse_url("https://" + written + rest)->rest == rest);
      CHECK(parse_url("https://" + written + ":1" + rest)->port == 1);
    }
  }
}

TEST_CASE("hosts that no URL may name") {
  const std::string long_label(64, 'a');
  std::string long_name = "a";
  for (int i = 0; i < 127; ++i) long_name += ".a";
  for (const std::string& host : {std::string(),
                                  std::string("e.com;script-src"),
                                  std::string("e.com,f.com"),
                                  std::string("*"),
                                  std::string("*.e.com"),
                                  std::string("e.com'"),
                                  std::string("\"e.com"),
                                  std::string("e_f.com"),
                                  std::string("-e.com"),
                                  std::string("e-.com"),
                                  std::string(".e.com"),
                                  std::string("e.com."),
                                  std::string("e..com"),
                                  std::string("e%2ecom"),
                                  std::string("%65.com"),
                                  std::string("e com"),
                                  std::string("e.com\r\nX:y"),
                                  std::string("e\tcom"),
                                  std::string("e.com\\.f"),
                                  std::string("127.1"),
                                  std::string("2130706433"),
                                  std::string("0x7f000001"),
                                  std::string("0x7f.0.0.1"),
                                  std::string("0177.0.0.1"),
                                  std::string("256.0.0.1"),
                                  std::string("1.2.3.4.5"),
                                  std::string("example.1"),
                                  std::string("[::1"),
                                  std::string("::1"),
                                  std::string("[::1]x"),
                                  std::string("[1.2.3.4]"),
                                  std::string("[fe80::1%25eth0]"),
                                  std::string("[::g]"),
                                  std::string("[]"),
                                  std::string("\xff.com"),
                                  std::string("xn--.\u00fc"),
                                  std::string("e.com:"),
                                  std::string("e.com:0"),
                                  std::string("e.com:65536"),
                                  std::string("e.com:080"),
                                  std::string("e.com:8o"),
                                  std::string("e.com:1:2"),
                                  std::string("e.com: 1"),
                                  std::string("@e.com"),
                                  std::string(":@e.com"),
                                  long_label,
                                  long_name}) {
    INFO(host);
    CHECK_FALSE(parse_url("https://" + host + "/"));
    CHECK_FALSE(parse_url("https://" + host));
  }
}

TEST_CASE("what isn't a URL with a host is refused") {
  for (const char* text : {"", "e.com", "//e.com", "https:", "https:e.com", "https:/e.com",
                           "https:///e.com", "https:////e.com", "://e.com",

                           " https://e.com", "https://e.com/a b", "https://e.com/\n",
                           "https://e.com/\\", "mailto:a@e.com", "javascript://", "file:///etc",
                           "com.example.app:/cb?u=http://e.com", "https://?x", "https://#x"}) {
    INFO(text);
    CHECK_FALSE(parse_url(text));
  }
}

TEST_CASE("a URL that seems to have another user or host is parsed as everybody parses it") {
  const Url user = parse_url("http://127.0.0.1:80@evil.example/").value();
  CHECK(user.host == "evil.example");
  CHECK(user.has_user());
  CHECK(parse_url("https://e.com/@f.com").value().host == "e.com");
  CHECK(parse_url("https://e.com?@f.com").value().host == "e.com");
  CHECK(parse_url("https://e.com#@f.com").value().host == "e.com");
}

TEST_CASE("host names") {
  for (const char* name : {"a", "localhost", "a.b", "1.a", "a1", "xn--a"})
    CHECK(is_host_name(name));
  for (const char* name : {"", ".", "a.", ".a", "a..b", "A", "a_b", "1", "1.2", "a.1", "a.0x1", "-",
                           "a-", "-a", "a b", "[::1]"}) {
    INFO(name);
    CHECK_FALSE(is_host_name(name));
  }
}

TEST_CASE("hosts that stay on this machine") {
  for (const char* host : {"localhost", "LOCALHOST", "registry.localhost", "127.0.0.1",
                           "127.255.0.9", "::1", "[::1]"}) {
    INFO(host);
    CHECK(is_loopback(host));
  }
  for (const char* host : {"", "127.evil.example", "127.0.0.1.evil.example", "127.1", "128.0.0.1",
                           "localhost.evil.example", "notlocalhost", ".localhost",
                           "evil.example/.localhost", "0.0.0.0", "::", "[::2]"}) {
    INFO(host);
    CHECK_FALSE(is_loopback(host));
  }
}

TEST_CASE("percent-encoded text can't end a parameter, a URL or a header") {
  CHECK(percent_encode("aZ09-._~") == "aZ09-._~");
  CHECK(percent_encode("a b&c=d/?#%\r\n") == "a%20b%26c%3Dd%2F%3F%23%25%0D%0A");
  CHECK(percent_encode("\u00fc") == "%C3%BC");
  CHECK(percent_encode(std::string(1, '\0')) == "%00");
}

TEST_CASE("percent-decoding undoes encoding and refuses what isn't encoded") {
  CHECK(percent_decode("a%2Fb+c", Plus::is_plus) == "a/b+c");
  CHECK(percent_decode("a%2fb+c", Plus::is_blank) == "a/b c");
  CHECK(percent_decode("%00", Plus::is_plus) == std::string(1, '\0'));
  for (const std::string broken : {"%", "%4", "%4g", "a%", "%%41"}) {
    CHECK_FALSE(percent_decode(broken, Plus::is_plus));
  }
}

}  // namespace
