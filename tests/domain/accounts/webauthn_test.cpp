// What is checked of a browser's answers about passkeys, with real keys of each algorithm.
#include "controller/domain/accounts/webauthn.h"

#include <catch2/catch.hpp>

#include "tests/passkey.h"

namespace {

using namespace berth;
using namespace berth::webauthn;
using berth::test::Authenticator;
using nlohmann::json;

const RelyingParty party = {.id = "api.example.org", .origin = "https://api.example.org"};
const std::string challenge(challenge_bytes, 'c');

struct Device {
  Authenticator own;

  explicit Device(int algorithm = Authenticator::es256) : own(party.origin, party.id, algorithm) {}
  Creation creation() const {
    return {.client_data = own.client("webauthn.create", base64url(challenge)),
            .authenticator_data = own.creation_data(),
            .public_key = own.public_key(),
            .algorithm = own.algorithm};
  }
  Assertion assertion() const {
    const std::string data = own.header(own.flags) + own.after_data;
    const std::string said = own.client("webauthn.get", base64url(challenge));
    return {.client_data = said,
            .authenticator_data = data,
            .signature = own.sign(data + sha256(said))};
  }
  std::string made(const Creation& answer) const {
    const auto result = check_creation(party, challenge, answer);
    return result ? "" : std::string(result.error());
  }
  std::string made() const { return made(creation()); }
  std::string used(const Assertion& answer) const {
    const auto result =
        check_assertion(party, challenge, *algorithm_of(own.algorithm), own.public_key(), answer);
    return result ? "" : std::string(result.error());
  }
  std::string used() const { return used(assertion()); }
};

TEST_CASE("a passkey of each algorithm is registered and used") {
  for (const int algorithm : {Authenticator::es256, Authenticator::eddsa, Authenticator::rs256}) {
    INFO(algorithm);
    Device device(algorithm);
    device.own.sign_count = 0x01020304;
    device.own.flags |= Authenticator::eligible | Authenticator::backed_up;
    const auto made = check_creation(party, challenge, device.creation());
    REQUIRE(made);
    CHECK(made->id == device.own.id);
    CHECK(int(made->algorithm) == algorithm);
    CHECK(made->sign_count == 0x01020304);
    CHECK(made->synced);
    const auto used =
        check_assertion(party, challenge, made->algorithm, made->public_key, device.assertion());
    REQUIRE(used);
    CHECK(used->sign_count == 0x01020304);
    CHECK(used->synced);
  }
}

TEST_CASE("client data is refused unless it is of this site, this challenge and this purpose") {
  Device device;
  const auto both = [&](const json& changes) {
    device.own.client_data = changes;
    const std::string made = device.made();
    CHECK(device.used() == made);
    return made;
  };
  CHECK(both(json::object()) == "");
  CHECK(both({{"origin", "https://example.org"}}) == another_site);
  CHECK(both({{"origin", "https://api.example.org.evil.example"}}) == another_site);
  CHECK(both({{"origin", "http://api.example.org"}}) == another_site);
  CHECK(both({{"origin", "https://api.example.org:8443"}}) == another_site);
  CHECK(both({{"origin", nullptr}}) == another_site);
  CHECK(both({{"crossOrigin", true}}) == another_site);
  CHECK(both({{"crossOrigin", "false"}}) == another_site);
  CHECK(both({{"topOrigin", party.origin}}) == another_site);
  CHECK(both({{"challenge", base64url(std::string(challenge_bytes, 'd'))}}) == another_challenge);
  CHECK(both({{"challenge", ""}}) == another_challenge);
  CHECK(both({{"challenge", 1}}) == another_challenge);
  CHECK(both({{"type", "payment.get"}}) == malformed);
  CHECK(both({{"type", json::array()}}) == malformed);
  // An answer to one question is none to the other.
  device.own.client_data = {{"type", "webauthn.create"}};
  CHECK(device.used() == malformed);
  device.own.client_data = {{"type", "webauthn.get"}};
  CHECK(device.made() == malformed);
  device.own.client_data = {{"other", "fields don't matter"}};
  CHECK(device.made() == "");
}

TEST_CASE("authenticator data of another site, or without the user, is refused") {
  SECTION("another site") {
    Device device;
    device.own.rp_id = "example.org";
    CHECK(device.made() == another_site);
    CHECK(device.used() == another_site);
  }
  SECTION("nobody was there, or nobody was verified") {
    for (const unsigned char flags :
         {static_cast<unsigned char>(0), Authenticator::present, Authenticator::verified}) {
      Device device;
      device.own.flags = flags;
      CHECK(device.made() == not_verified);
      CHECK(device.used() == not_verified);
    }
  }
  SECTION("a copy of what can't be copied") {
    Device device;
    device.own.flags |= Authenticator::backed_up;
    CHECK(device.made() == malformed);
    CHECK(device.used() == malformed);
  }
}

TEST_CASE("an assertion with extensions is refused before anything parses them") {
  Device device;
  device.own.flags |= Authenticator::extensions;
  // An array of 2^32 elements, of which there is none.
  device.own.after_data = std::string("\x9b\x00\x00\x00\x01\x00\x00\x00\x00", 9);
  CHECK(device.used() == malformed);
  device.own.after_data = "";
  CHECK(device.used() == malformed);
  device.own.flags = Authenticator::present | Authenticator::verified;
  device.own.after_data = "x";
  CHECK(device.used() == malformed);
}

TEST_CASE("a wrong signature is refused, whatever was changed") {
  for (const int algorithm : {Authenticator::es256, Authenticator::eddsa, Authenticator::rs256}) {
    INFO(algorithm);
    const Device device(algorithm), other(algorithm);
    Assertion answer = device.assertion();
    CHECK(other.used(answer) == wrong_signature);
    answer.signature.back() = char(answer.signature.back() ^ 1);
    CHECK(device.used(answer) == wrong_signature);
    answer = device.assertion();
    answer.authenticator_data.back() = char(answer.authenticator_data.back() ^ 1);  // the count
    CHECK(device.used(answer) == wrong_signature);
    answer = device.assertion();
    answer.client_data += " ";
    CHECK(device.used(answer) == wrong_signature);
    answer = device.assertion();
    answer.signature.clear();
    CHECK(device.used(answer) == malformed);
    answer.signature = "\x30";
    CHECK(device.used(answer) == wrong_signature);
  }
}

TEST_CASE("what is cut off at any place is refused") {
  const Device device;
  const Creation whole = device.creation();
  for (size_t size = 0; size < whole.authenticator_data.size(); ++size) {
    Creation answer = whole;
    answer.authenticator_data.resize(size);
    CHECK(device.made(answer) == malformed);
  }
  for (size_t size = 0; size < whole.public_key.size(); ++size) {
    Creation answer = whole;
    answer.public_key.resize(size);
    CHECK(device.made(answer) == unsuitable_key);
  }
  for (size_t size = 0; size < whole.client_data.size(); ++size) {
    Creation answer = whole;
    answer.client_data.resize(size);
    CHECK(device.made(answer) == malformed);
  }
  const Assertion used = device.assertion();
  for (size_t size = 0; size < used.authenticator_data.size(); ++size) {
    Assertion answer = used;
    answer.authenticator_data.resize(size);
    CHECK(device.used(answer) == malformed);
  }
  for (size_t size = 1; size < used.signature.size(); ++size) {
    Assertion answer = used;
    answer.signature.resize(size);
    CHECK(device.used(answer) == wrong_signature);
  }
}

TEST_CASE("huge answers are refused by their size") {
  Device device;
  Creation answer = device.creation();
  answer.client_data = std::string(1'000'000, '[');
  CHECK(device.made(answer) == malformed);
  answer = device.creation();
  answer.authenticator_data.append(max_authenticator_data, 'x');
  CHECK(device.made(answer) == malformed);
  answer = device.creation();
  answer.public_key.append(max_public_key, 'x');
  CHECK(device.made(answer) == unsuitable_key);
  Assertion used = device.assertion();
  used.signature.assign(max_signature + 1, 'x');
  CHECK(device.used(used) == malformed);
}

TEST_CASE("a credential's id has a length that the specification allows") {
  Device device;
  const auto with = [&](size_t size) {
    device.own.id.assign(size, 'i');
    return device.made();
  };
  CHECK(with(min_credential_id - 1) == malformed);
  CHECK(with(min_credential_id) == "");
  CHECK(with(max_credential_id) == "");
  CHECK(with(max_credential_id + 1) == malformed);
  // Its length is beyond the data.
  Creation answer = Device().creation();
  answer.authenticator_data[53] = '\x7f';
  CHECK(device.made(answer) == malformed);
}

TEST_CASE("keys of other kinds, or under another algorithm, are refused") {
  const Device device;
  Creation answer = device.creation();
  for (const int algorithm : {-8, -257, -35, -65535, 0, 7}) {
    answer.algorithm = algorithm;
    CHECK(device.made(answer) == unsuitable_key);
  }
  const auto der = [](EVP_PKEY* key) {
    unsigned char* bytes = nullptr;
    const int length = i2d_PUBKEY(key, &bytes);
    const std::string text(reinterpret_cast<const char*>(bytes), size_t(length));
    OPENSSL_free(bytes);
    EVP_PKEY_free(key);
    return text;
  };
  const auto with = [&](EVP_PKEY* key, int algorithm) {
    answer.public_key = der(key);
    answer.algorithm = algorithm;
    return device.made(answer);
  };
  CHECK(with(EVP_EC_gen("P-256"), -7) == "");
  CHECK(with(EVP_EC_gen("P-384"), -7) == unsuitable_key);
  CHECK(with(EVP_EC_gen("secp256k1"), -7) == unsuitable_key);
  CHECK(with(EVP_RSA_gen(1024), -257) == unsuitable_key);
  CHECK(with(EVP_RSA_gen(3072), -257) == unsuitable_key);
  CHECK(with(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"), -8) == unsuitable_key);
  answer.public_key = "";  // as getPublicKey() returns it for what the browser doesn't know
  CHECK(device.made(answer) == unsuitable_key);
}

TEST_CASE("passkeys are for the host of the base URL, over TLS or on localhost") {
  const auto of = [](const std::string& url) {
    const auto found = relying_party(url);
    return found ? found->id + " " + found->origin : "";
  };
  CHECK(of("https://api.example.org") == "api.example.org https://api.example.org");
  CHECK(of("https://api.example.org:443") == "api.example.org https://api.example.org");
  CHECK(of("https://api.example.org:8443") == "api.example.org https://api.example.org:8443");
  CHECK(of("http://localhost:8080") == "localhost http://localhost:8080");
  CHECK(of("http://api.example.org") == "");
  CHECK(of("https://192.0.2.1") == "");
  CHECK(of("http://127.0.0.1:8080") == "");
  CHECK(of("https://[2001:db8::1]") == "");
}

}  // namespace
