#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/error.h"

// What a browser and an authenticator say about a passkey (Web Authentication Level 3,
// https://www.w3.org/TR/webauthn-3/), checked by the rules for a relying party. libfido2 checks the
// signature of an assertion, the RP ID's hash and the flags. Nothing here reads CBOR: the browser
// gives the public key in DER (section 5.2.1.1), attestation isn't asked for, and an assertion has
// no extensions, since none are asked for. Thread-safe.
namespace berth::webauthn {

// Limits of what is looked at, in bytes.
inline constexpr std::size_t max_client_data = 2'000;
inline constexpr std::size_t max_authenticator_data = 4'000;
inline constexpr std::size_t max_signature = 512;  // RSA with 2048 bits needs 256
inline constexpr std::size_t max_public_key = 600;
// Section 5.8.3, and section 7.1, step 26.
inline constexpr std::size_t min_credential_id = 16;
inline constexpr std::size_t max_credential_id = 1'023;
inline constexpr std::size_t challenge_bytes = 32;  // section 13.4.3 asks for 16 at least

// The algorithms that are accepted, with their numbers in COSE (RFC 9053, RFC 8812).
enum class Algorithm : int { es256 = -7, eddsa = -8, rs256 = -257 };
inline constexpr Algorithm algorithms[] = {Algorithm::es256, Algorithm::eddsa, Algorithm::rs256};
std::optional<Algorithm> algorithm_of(std::int64_t cose);

// Whom passkeys are for (section 4, "Relying Party Identifier").
struct RelyingParty {
  std::string id;      // a host name
  std::string origin;  // scheme://host or scheme://host:port, of which alone answers are accepted
};
// Returns the relying party of a platform at this URL. Returns nothing if browsers have no passkeys
// there: the host is an address, or the scheme is http, except on localhost (section 13.4.9; Secure
// Contexts, section 3.1).
std::optional<RelyingParty> relying_party(const std::string& base_url);

// What is wrong with an answer, as a sentence without its full stop: one of a closed set.
using Wrong = std::string_view;
inline constexpr Wrong another_challenge = "the passkey answered something else; try again";
inline constexpr Wrong another_site = "the passkey was used on another site";
inline constexpr Wrong malformed = "the browser sent something that isn't a passkey";
inline constexpr Wrong not_verified = "the passkey didn't verify who you are";
inline constexpr Wrong unsuitable_key = "this kind of passkey isn't supported";
inline constexpr Wrong wrong_signature = "the passkey's signature is wrong";

// Returns the error 422 validation_failed for the field `credential`.
Error refusal(Wrong wrong);

// An answer of navigator.credentials.create(), in bytes.
struct Creation {
  std::string client_data;         // clientDataJSON
  std::string authenticator_data;  // of getAuthenticatorData()
  std::string public_key;          // of getPublicKey(): a SubjectPublicKeyInfo in DER
  std::int64_t algorithm = 0;      // of getPublicKeyAlgorithm()
};
struct Credential {
  std::string id;  // bytes
  Algorithm algorithm = Algorithm::es256;
  std::string public_key;  // DER
  std::uint32_t sign_count = 0;
  bool synced = false;  // the authenticator keeps copies of it elsewhere (section 6.1.3)
};
// Checks an answer (section 7.1). `challenge` is in bytes.
std::expected<Credential, Wrong> check_creation(const RelyingParty& party,
                                                std::string_view challenge, const Creation& answer);

// An answer of navigator.credentials.get(), in bytes.
struct Assertion {
  std::string client_data;
  std::string authenticator_data;
  std::string signature;
};
struct Use {
  std::uint32_t sign_count = 0;
  bool synced = false;
};
// Checks an answer that a key signed (section 7.2). The caller compares the sign count with the
// last one.
std::expected<Use, Wrong> check_assertion(const RelyingParty& party, std::string_view challenge,
                                          Algorithm algorithm, const std::string& public_key,
                                          const Assertion& answer);

}  // namespace berth::webauthn
