// Answers of browsers about passkeys: the first line is client data, the second one a public key or
// a signature in base64url, and the rest authenticator data.
#include "controller/domain/accounts/webauthn.h"

#include "controller/base/crypto.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

namespace {

const webauthn::RelyingParty party = {.id = "localhost", .origin = "http://localhost"};
const std::string challenge(webauthn::challenge_bytes, 'c');
// The key of the generator of P-256 (SEC 2, section 2.4.2).
const std::string der =
    parse_base64(
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP"
        "40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==")
        .value_or("");

}  // namespace

void run(std::string_view input) {
  const std::string said(take_line(input));
  const std::string other = parse_base64url(take_line(input)).value_or("");
  const std::string data(input);
  for (const webauthn::Algorithm algorithm : webauthn::algorithms) {
    const auto made = webauthn::check_creation(party, challenge,
                                               {.client_data = said,
                                                .authenticator_data = data,
                                                .public_key = other,
                                                .algorithm = std::int64_t(algorithm)});
    if (made) {
      hold(made->id.size() >= webauthn::min_credential_id, "ids are long enough");
      hold(made->id.size() <= webauthn::max_credential_id, "ids are short enough");
    }
    for (const std::string& key : {der, other})
      static_cast<void>(webauthn::check_assertion(
          party, challenge, algorithm, key,
          {.client_data = said, .authenticator_data = data, .signature = other}));
  }
}

}  // namespace berth::fuzz
