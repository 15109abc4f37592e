#include "api/resources/accounts/passkey_json.h"

#include "api/gate/browser_session.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/base/crypto.h"

namespace berth::api {
namespace {

using nlohmann::json;

json descriptors(const std::vector<passkeys::Passkey>& known) {
  json list = json::array();
  for (const passkeys::Passkey& passkey : known)
    list.push_back({{"type", "public-key"}, {"id", passkey.credential_id}});
  return list;
}

std::int64_t timeout() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(passkeys::challenge_lifetime)
      .count();
}

Error malformed() { return webauthn::refusal(webauthn::malformed); }

const json& part(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) throw malformed();
  return *found;
}

// Returns the bytes of a field in base64url.
std::string bytes_of(const json& value) {
  const auto bytes =
      value.is_string() ? parse_base64url(value.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes) throw malformed();
  return *bytes;
}
std::string bytes_in(const json& object, const char* name) { return bytes_of(part(object, name)); }

}  // namespace

PasskeyQuestion ask_for_creation(const accounts::User& user, const std::string& bound_to,
                                 const Services& services) {
  const auto party = require_relying_party(services);
  const auto known = services.db.read([&](db::Tx& tx) {
    passkeys::require_room(tx, user.id);
    return passkeys::list(tx, user.id);
  });
  const auto challenge = passkeys::new_challenge(passkeys::Purpose::creation, bound_to,
                                                 services.clock.now(), services.keys);
  json parameters = json::array();
  for (const webauthn::Algorithm algorithm : webauthn::algorithms)
    parameters.push_back({{"type", "public-key"}, {"alg", int(algorithm)}});
  // The user handle is the account's id, which says nothing about the person (section 14.6.1).
  return {.state = challenge.state,
          .options = {
              {"rp", {{"id", party.id}, {"name", "berth"}}},
              {"user",
               {{"id", base64url(user.id)}, {"name", user.email}, {"displayName", user.username}}},
              {"challenge", base64url(challenge.bytes)},
              {"pubKeyCredParams", parameters},
              {"timeout", timeout()},
              {"excludeCredentials", descriptors(known)},
              {"authenticatorSelection",
               {{"residentKey", "required"},
                {"requireResidentKey", true},
                {"userVerification", "required"}}},
              {"attestation", "none"}}};
}

PasskeyQuestion ask_for_assertion(const std::string& user_id, const std::string& bound_to,
                                  const Services& services) {
  const auto party = require_relying_party(services);
  const auto challenge = passkeys::new_challenge(passkeys::Purpose::assertion, bound_to,
                                                 services.clock.now(), services.keys);
  json allowed = json::array();
  if (!user_id.empty())
    allowed =
        services.db.read([&](db::Tx& tx) { return descriptors(passkeys::list(tx, user_id)); });
  return {.state = challenge.state,
          .options = {{"challenge", base64url(challenge.bytes)},
                      {"timeout", timeout()},
                      {"rpId", party.id},
                      {"allowCredentials", allowed},
                      {"userVerification", "required"}}};
}

std::string creation_binding(const std::string& session_id) { return "session:" + session_id; }

std::string assertion_binding(const std::string& form_id) { return "browser:" + form_id; }

std::string assertion_binding(const Request& request, const Services& services) {
  return assertion_binding(Cookies(services.base_url).form(request));
}

webauthn::Creation creation_in(const json& credential) {
  const json& response = part(credential, "response");
  const json& algorithm = part(response, "publicKeyAlgorithm");
  if (!algorithm.is_number_integer()) throw malformed();
  return {.client_data = bytes_in(response, "clientDataJSON"),
          .authenticator_data = bytes_in(response, "authenticatorData"),
          .public_key = bytes_in(response, "publicKey"),
          .algorithm = algorithm.get<std::int64_t>()};
}

passkeys::Answer answer_in(const json& credential, const std::string& state,
                           const std::string& bound_to) {
  const json& response = part(credential, "response");
  const auto handle = response.find("userHandle");
  const bool is_named = handle != response.end() && !handle->is_null();
  return {.state = state,
          .bound_to = bound_to,
          .credential_id = bytes_in(credential, "id"),
          .user_handle = is_named ? bytes_of(*handle) : std::string(),
          .assertion = {.client_data = bytes_in(response, "clientDataJSON"),
                        .authenticator_data = bytes_in(response, "authenticatorData"),
                        .signature = bytes_in(response, "signature")}};
}

}  // namespace berth::api
