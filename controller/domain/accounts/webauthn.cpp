#include "controller/domain/accounts/webauthn.h"

#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/url.h"

namespace berth::webauthn {
namespace {

// The layout of authenticator data (section 6.1), in bytes.
constexpr std::size_t hash_bytes = 32;
constexpr std::size_t flags_at = hash_bytes;
constexpr std::size_t sign_count_at = flags_at + 1;
constexpr std::size_t header_bytes = sign_count_at + 4;
// What follows in that of a new credential (section 6.5.1): the kind of authenticator, the length
// of the credential's id, the id, and the public key.
constexpr std::size_t aaguid_bytes = 16;
constexpr std::size_t id_length_at = header_bytes + aaguid_bytes;
constexpr std::size_t id_at = id_length_at + 2;

enum Flag : unsigned char {
  user_present = 0x01,
  user_verified = 0x04,
  backup_eligible = 0x08,
  backed_up = 0x10,
  has_credential = 0x40,
  has_extensions = 0x80,
};

unsigned char byte_at(std::string_view data, std::size_t at) {
  return static_cast<unsigned char>(data[at]);
}

std::uint32_t sign_count_of(std::string_view data) {
  std::uint32_t count = 0;
  for (std::size_t at = sign_count_at; at < header_bytes; ++at)
    count = count << 8 | byte_at(data, at);
  return count;
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

using Json = nlohmann::json;

bool says(const Json& data, const char* field, const std::string& value) {
  const auto found = data.find(field);
  return found != data.end() && found->is_string() && found->get_ref<const std::string&>() == value;
}

// Checks clientDataJSON (section 5.8.1; section 7.1, steps 5 to 10; section 7.2, steps 8 to 14).
// Returns nothing if it is right.
std::optional<Wrong> wrong_client_data(const RelyingParty& party, std::string_view challenge,
                                       const char* type, std::string_view text) {
  if (text.size() > max_client_data) return malformed;
  const Json data = Json::parse(text, nullptr, false);
  if (!data.is_object() || !says(data, "type", type)) return malformed;
  if (!says(data, "challenge", base64url(challenge))) return another_challenge;
  if (!says(data, "origin", party.origin)) return another_site;
  // berth's pages are in no frames. `topOrigin` is there only in one.
  const auto crosses = data.find("crossOrigin");
  const bool is_in_frame = crosses != data.end() && *crosses != Json(false);
  if (is_in_frame || data.contains("topOrigin")) return another_site;
  return std::nullopt;
}

// Checks what both kinds of authenticator data begin with (section 7.1, steps 14 to 18; section
// 7.2, steps 16 to 20). Returns nothing if it is right.
std::optional<Wrong> wrong_header(const RelyingParty& party, std::string_view data) {
  if (data.size() < header_bytes || data.size() > max_authenticator_data) return malformed;
  if (data.substr(0, hash_bytes) != sha256(party.id)) return another_site;
  const unsigned char flags = byte_at(data, flags_at);
  if ((flags & user_present) == 0 || (flags & user_verified) == 0) return not_verified;
  if ((flags & backed_up) != 0 && (flags & backup_eligible) == 0) return malformed;
  return std::nullopt;
}

// A value of libfido2 that its own function frees.
template <typename T, void (*release)(T**)>
struct Releaser {
  void operator()(T* value) const { release(&value); }
};
template <typename T, void (*release)(T**)>
using Owned = std::unique_ptr<T, Releaser<T, release>>;
using Es256Key = Owned<es256_pk_t, es256_pk_free>;
using EddsaKey = Owned<eddsa_pk_t, eddsa_pk_free>;
using Rs256Key = Owned<rs256_pk_t, rs256_pk_free>;
using AssertionValue = Owned<fido_assert_t, fido_assert_free>;
using PublicKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

template <typename T>
T* allocated(T* value) {
  if (value == nullptr) throw std::bad_alloc();
  return value;
}

// Parses a SubjectPublicKeyInfo; null if it isn't exactly one.
PublicKey parse_key(const std::string& der) {
  if (der.empty() || der.size() > max_public_key) return {nullptr, EVP_PKEY_free};
  const unsigned char* at = bytes(der);
  PublicKey key(d2i_PUBKEY(nullptr, &at, long(der.size())), EVP_PKEY_free);
  ERR_clear_error();
  if (at != bytes(der) + der.size()) key.reset();
  return key;
}

bool is_on_p256(const EVP_PKEY* key) {
  char group[32] = {};
  size_t length = 0;
  return EVP_PKEY_get_group_name(key, group, sizeof group, &length) == 1 &&
         std::string_view(group, length) == "prime256v1";
}

// Calls `use` with the key in libfido2's form, and returns what it returns. Returns nothing if the
// key isn't one of the algorithm.
template <typename Work>
std::optional<int> with_key(Algorithm algorithm, const std::string& der, Work&& use) {
  const PublicKey key = parse_key(der);
  if (!key) return std::nullopt;
  switch (algorithm) {
    case Algorithm::es256: {
      const Es256Key own(allocated(es256_pk_new()));
      if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_EC || !is_on_p256(key.get()) ||
          es256_pk_from_EVP_PKEY(own.get(), key.get()) != FIDO_OK)
        return std::nullopt;
      return use(own.get());
    }
    case Algorithm::eddsa: {
      const EddsaKey own(allocated(eddsa_pk_new()));
      if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519 ||
          eddsa_pk_from_EVP_PKEY(own.get(), key.get()) != FIDO_OK)
        return std::nullopt;
      return use(own.get());
    }
    case Algorithm::rs256: {
      const Rs256Key own(allocated(rs256_pk_new()));
      if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA ||
          rs256_pk_from_EVP_PKEY(own.get(), key.get()) != FIDO_OK)
        return std::nullopt;
      return use(own.get());
    }
  }
  return std::nullopt;
}

// libfido2 checks the RP ID's hash and the flags once more, and the signature over authenticator
// data and the hash of the client data (section 7.2, steps 21 and 22).
int verify(const RelyingParty& party, Algorithm algorithm, const Assertion& answer,
           const void* key) {
  const AssertionValue value(allocated(fido_assert_new()));
  fido_assert_t* assertion = value.get();
  const std::string hash = sha256(answer.client_data);
  for (const int result :
       {fido_assert_set_rp(assertion, party.id.c_str()), fido_assert_set_count(assertion, 1),
        fido_assert_set_up(assertion, FIDO_OPT_TRUE), fido_assert_set_uv(assertion, FIDO_OPT_TRUE),
        fido_assert_set_clientdata_hash(assertion, bytes(hash), hash.size()),
        fido_assert_set_authdata_raw(assertion, 0, bytes(answer.authenticator_data),
                                     answer.authenticator_data.size()),
        fido_assert_set_sig(assertion, 0, bytes(answer.signature), answer.signature.size())})
    if (result != FIDO_OK) return result;
  const int result = fido_assert_verify(assertion, 0, int(algorithm), key);
  ERR_clear_error();
  return result;
}

void initialize() {
  static const bool done = [] {
    fido_init(0);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

std::optional<Algorithm> algorithm_of(std::int64_t cose) {
  const auto found = std::ranges::find_if(
      algorithms, [&](Algorithm algorithm) { return std::int64_t(algorithm) == cose; });
  return found == std::end(algorithms) ? std::nullopt : std::optional(*found);
}

Error refusal(Wrong wrong) {
  const std::string why(wrong);
  return {Code::validation_failed, why, {{"credential", {why}}}};
}

std::optional<RelyingParty> relying_party(const std::string& base_url) {
  const auto url = parse_url(base_url);
  if (!url) return std::nullopt;
  const bool is_safe =
      url->scheme == "https" || (url->scheme == "http" && url->host == "localhost");
  if (!is_safe || !is_host_name(url->host)) return std::nullopt;
  // Browsers leave the scheme's own port out (HTML, section 7.1.1).
  const bool is_plain = url->port == 0 || url->port == port_of_scheme(url->scheme);
  return RelyingParty{.id = url->host,
                      .origin = url->scheme + "://" + (is_plain ? url->host : url->authority())};
}

std::expected<Credential, Wrong> check_creation(const RelyingParty& party,
                                                std::string_view challenge,
                                                const Creation& answer) {
  initialize();
  if (const auto wrong = wrong_client_data(party, challenge, "webauthn.create", answer.client_data))
    return std::unexpected(*wrong);
  const std::string_view data = answer.authenticator_data;
  if (const auto wrong = wrong_header(party, data)) return std::unexpected(*wrong);
  const unsigned char flags = byte_at(data, flags_at);
  if ((flags & has_credential) == 0 || data.size() <= id_at) return std::unexpected(malformed);
  const std::size_t length =
      std::size_t(byte_at(data, id_length_at)) << 8 | byte_at(data, id_length_at + 1);
  if (length < min_credential_id || length > max_credential_id || data.size() - id_at <= length)
    return std::unexpected(malformed);
  const auto algorithm = algorithm_of(answer.algorithm);
  if (!algorithm || !with_key(*algorithm, answer.public_key, [](const void*) { return FIDO_OK; }))
    return std::unexpected(unsuitable_key);
  return Credential{.id = std::string(data.substr(id_at, length)),
                    .algorithm = *algorithm,
                    .public_key = answer.public_key,
                    .sign_count = sign_count_of(data),
                    .synced = (flags & backed_up) != 0};
}

std::expected<Use, Wrong> check_assertion(const RelyingParty& party, std::string_view challenge,
                                          Algorithm algorithm, const std::string& public_key,
                                          const Assertion& answer) {
  initialize();
  if (const auto wrong = wrong_client_data(party, challenge, "webauthn.get", answer.client_data))
    return std::unexpected(*wrong);
  const std::string_view data = answer.authenticator_data;
  if (const auto wrong = wrong_header(party, data)) return std::unexpected(*wrong);
  const unsigned char flags = byte_at(data, flags_at);
  // Extensions would be CBOR. libfido2's parser allocates what their head announces, so they are
  // refused before it sees them.
  if ((flags & (has_credential | has_extensions)) != 0 || data.size() != header_bytes)
    return std::unexpected(malformed);
  if (answer.signature.empty() || answer.signature.size() > max_signature)
    return std::unexpected(malformed);
  const auto result = with_key(algorithm, public_key, [&](const void* key) {
    return verify(party, algorithm, answer, key);
  });
  if (!result) return std::unexpected(unsuitable_key);
  if (*result != FIDO_OK) return std::unexpected(wrong_signature);
  return Use{.sign_count = sign_count_of(data), .synced = (flags & backed_up) != 0};
}

}  // namespace berth::webauthn
