#include "controller/domain/accounts/two_factor.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/domain/world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Phone {  // a user with an authenticator
  World world;
  accounts::User user = world.new_user("ada");
  std::string secret;

  std::string code(Duration from_now = 0s) {
    return totp(secret, to_millis(world.clock.now() + from_now) / 1000);
  }
  void set_up() {
    secret =
        world.write([&](db::Tx& tx) { return two_factor::set_up(tx, user, world.keys); }).secret;
  }
  std::vector<std::string> enable(const std::string& with) {
    auto codes = world.write([&](db::Tx& tx) {
      return two_factor::enable(tx, user, with, world.keys, "https://api.example.org");
    });
    user = world.find_user(user.id);
    return codes;
  }
  bool take(const std::string& with, const std::string& user_id = {}) {
    return world.write([&](db::Tx& tx) {
      return two_factor::take_code(tx, user_id.empty() ? user.id : user_id, with, world.keys);
    });
  }
  // Enables the second factor, and waits until the time of the code that it used is over.
  std::vector<std::string> enabled() {
    set_up();
    auto codes = enable(code());
    world.clock.advance(90s);
    return codes;
  }
};

TEST_CASE("the test's authenticator makes the codes of RFC 6238, appendix B") {
  const std::string secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";  // 12345678901234567890
  CHECK(totp(secret, 59) == "287082");
  CHECK(totp(secret, 1111111109) == "081804");
  CHECK(totp(secret, 20000000000) == "353130");
}

TEST_CASE("TOTP takes effect once a code was seen") {
  Phone phone;
  phone.set_up();
  CHECK(phone.secret.size() == 32);
  CHECK_FALSE(phone.world.find_user(phone.user.id).totp_enabled);
  CHECK(refusal([&] { phone.enable("000000"); }) == "401 invalid_totp");
  CHECK_FALSE(phone.world.find_user(phone.user.id).totp_enabled);
  const auto codes = phone.enable(phone.code());
  CHECK(phone.user.totp_enabled);
  CHECK(std::set<std::string>(codes.begin(), codes.end()).size() == 10);
  CHECK(refusal([&] { phone.set_up(); }) == "409 invalid_state");
  CHECK(refusal([&] { phone.enable(phone.code()); }) == "409 invalid_state");
}

TEST_CASE("authenticators can read the URI") {
  Phone phone;
  const auto setup = phone.world.write(
      [&](db::Tx& tx) { return two_factor::set_up(tx, phone.user, phone.world.keys); });
  CHECK(setup.uri == "otpauth://totp/berth:ada%40example.org?secret=" + setup.secret +
                         "&issuer=berth&algorithm=SHA1&digits=6&period=30");
}

TEST_CASE("nothing can be enabled without a secret") {
  Phone phone;
  CHECK(refusal([&] { phone.enable("123456"); }) == "409 invalid_state");
}

TEST_CASE("another set-up replaces the secret") {
  Phone phone;
  phone.set_up();
  const std::string old_code = phone.code();
  phone.set_up();
  if (phone.code() != old_code)
    CHECK(refusal([&] { phone.enable(old_code); }) == "401 invalid_totp");
  CHECK(phone.enable(phone.code()).size() == 10);
}

TEST_CASE("a code works once, and so does no code older than it") {
  Phone phone;
  phone.enabled();
  const std::string before = phone.code(-30s), now = phone.code();
  CHECK(phone.take(now));
  CHECK_FALSE(phone.take(now));
  CHECK_FALSE(phone.take(before));
  phone.world.clock.advance(30s);
  CHECK_FALSE(phone.take(now));
  CHECK(phone.take(phone.code()));
}

TEST_CASE("the code that enabled TOTP isn't accepted at login") {
  Phone phone;
  phone.set_up();
  const std::string code = phone.code();
  phone.enable(code);
  CHECK_FALSE(phone.take(code));
}

TEST_CASE("a clock may be one step off, and no more") {
  for (const auto& [off, taken] : {std::pair<Duration, bool>{-60s, false},
                                   {-30s, true},
                                   {0s, true},
                                   {30s, true},
                                   {60s, false}}) {
    Phone phone;
    phone.enabled();
    INFO(off.count());
    CHECK(phone.take(phone.code(off)) == taken);
  }
}

TEST_CASE("what isn't a code is refused") {
  Phone phone;
  phone.enabled();
  const std::string code = phone.code();
  for (const std::string& wrong :
       {std::string(), std::string("0"), code.substr(1), code + "0", "+" + code.substr(1),
        std::string("abcdef"), std::string(64, '1'), std::string("' OR 1=1"), code + '\0'})
    CHECK_FALSE(phone.take(wrong));
  CHECK(phone.take(code.substr(0, 3) + " " + code.substr(3)));
}

TEST_CASE("a recovery code works once, in any notation, and for its user only") {
  Phone phone;
  const auto codes = phone.enabled();
  const auto bob = phone.world.new_user("bob");
  CHECK_FALSE(phone.take(codes[0], bob.id));
  CHECK(phone.take(codes[0]));
  CHECK_FALSE(phone.take(codes[0]));
  std::string typed = codes[1];
  typed.erase(typed.find('-'), 1);
  for (char& c : typed) c = char(std::tolower(static_cast<unsigned char>(c)));
  CHECK(phone.take(" " + typed));
  CHECK_FALSE(phone.take(codes[1]));
  CHECK(phone.world.read(
            [&](db::Tx& tx) { return two_factor::recovery_codes_left(tx, phone.user.id); }) == 8);
}

TEST_CASE("new recovery codes replace the old ones") {
  Phone phone;
  const auto old_codes = phone.enabled();
  const auto codes = phone.world.write([&](db::Tx& tx) {
    return two_factor::new_recovery_codes(tx, phone.user, phone.world.keys,
                                          "https://api.example.org");
  });
  CHECK_FALSE(phone.take(old_codes[0]));
  CHECK(phone.take(codes[0]));
}

TEST_CASE("TOTP is turned off with a code, and everything of it is deleted") {
  Phone phone;
  const auto codes = phone.enabled();
  const auto disable = [&](const std::string& code) {
    return refusal([&] {
      phone.world.write([&](db::Tx& tx) {
        two_factor::disable(tx, phone.user, code, phone.world.keys, "https://api.example.org");
      });
    });
  };
  CHECK(disable("000000") == "401 invalid_totp");
  CHECK(phone.world.find_user(phone.user.id).totp_enabled);
  CHECK(disable(phone.code()) == "");
  phone.user = phone.world.find_user(phone.user.id);
  CHECK_FALSE(phone.user.totp_enabled);
  CHECK_FALSE(phone.take(codes[0]));
  CHECK(disable(phone.code(30s)) == "409 invalid_state");
}

TEST_CASE("neither the secret nor a recovery code can be read from the database") {
  Phone phone;
  const auto codes = phone.enabled();
  phone.world.read([&](db::Tx& tx) {
    auto rows = tx.query(R"(SELECT sealed_secret FROM totp_secrets)");
    REQUIRE(rows.next());
    CHECK(rows.text("sealed_secret").find(base64(base32_decoded(phone.secret)).substr(0, 20)) ==
          std::string::npos);
    std::string plain = codes[0];
    plain.erase(plain.find('-'), 1);
    CHECK(tx.number("SELECT count(*) FROM recovery_codes WHERE code_hash IN ($1, $2)", plain,
                    token_hash(plain)) == 0);
  });
}

}  // namespace
