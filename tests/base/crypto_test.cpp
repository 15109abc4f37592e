#include "controller/base/crypto.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <set>

namespace {

using namespace berth;

const std::string key(32, 'k');

// Generates any bytes, including NUL.
rc::Gen<std::string> bytes() { return rc::gen::container<std::string>(rc::gen::arbitrary<char>()); }

TEST_CASE("hashes are those of the standards") {
  // FIPS 180-2, appendix B.1; RFC 4231, section 4.3.
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(token_hash("abc") == hex(sha256("abc")));
}

TEST_CASE("hex has two digits for each byte") {
  CHECK(hex(std::string("\x00\x0f\xa5\xff", 4)) == "000fa5ff");
}

TEST_CASE("base64 is that of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64url("fo") == "Zm8");
  CHECK(base64("\xfb\xff\xfe") == "+//+");
  CHECK(base64url("\xfb\xff\xfe") == "-__-");
}

TEST_CASE("base64 reads back what it wrote") {
  CHECK(rc::check([] {
    const std::string plain = *bytes();
    RC_ASSERT(parse_base64(base64(plain)) == plain);
    RC_ASSERT(base64url(plain).find_first_of("+/=") == std::string::npos);
  }));
}

TEST_CASE("what isn't strict base64 is refused") {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "====", "=AAA", "Z===", "Zm=v", "Zm9v\n",
                           " Zm9", "    Zm9v", "Zm9vZm9v    ", "Zm-_", "Zm9*", "Zh==", "Zm9="}) {
    INFO('"' << text << '"');
    CHECK_FALSE(parse_base64(text));
  }
}

TEST_CASE("tokens have their prefix, 256 bits, and are never the same") {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = random_token("at_live_");
    CHECK(token.size() == std::string("at_live_").size() + 43);
    CHECK(token.starts_with("at_live_"));
    tokens.insert(token);
  }
  CHECK(tokens.size() == 100);
}

TEST_CASE("constant-time comparison compares") {
  CHECK(equal_in_constant_time("", ""));
  CHECK(equal_in_constant_time("secret", "secret"));
  CHECK_FALSE(equal_in_constant_time("secret", "secreT"));
  CHECK_FALSE(equal_in_constant_time("secret", "secret1"));
  CHECK_FALSE(equal_in_constant_time("", "x"));
}

TEST_CASE("what is sealed opens with the same key and context") {
  CHECK(rc::check([] {
    const std::string plain = *bytes(), context = *bytes();
    RC_ASSERT(open_sealed(key, seal(key, plain, context), context) == plain);
  }));
}

TEST_CASE("the same text is sealed differently each time") {
  CHECK(seal(key, "plain", "row") != seal(key, "plain", "row"));
}

TEST_CASE("another key or another context doesn't open it") {
  const std::string sealed = seal(key, "DATABASE_URL=postgres", "env:1");
  CHECK_FALSE(open_sealed(std::string(32, 'x'), sealed, "env:1"));
  CHECK_FALSE(open_sealed(key, sealed, "env:2"));
  CHECK_FALSE(open_sealed(key, sealed, ""));
  CHECK_FALSE(open_sealed(std::string(31, 'k'), sealed, "env:1"));
  CHECK_FALSE(open_sealed(std::string(33, 'k'), sealed, "env:1"));
}

TEST_CASE("nothing opens once a byte has changed or is missing") {
  const std::string sealed = seal(key, "plain", "row");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    INFO("byte " << i);
    CHECK_FALSE(open_sealed(key, changed, "row"));
    CHECK_FALSE(open_sealed(key, sealed.substr(0, i), "row"));
  }
  CHECK_FALSE(open_sealed(key, sealed + "x", "row"));
}

TEST_CASE("sealing refuses a key of another length") {
  CHECK_THROWS_AS(seal("short", "plain", "row"), std::runtime_error);
  CHECK_THROWS_AS(seal(std::string(33, 'k'), "plain", "row"), std::runtime_error);
}

}  // namespace
