#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/passkeys.h"
#include "controller/transport/http.h"

// How questions to a browser about passkeys, and its answers, are written in JSON, for the API and
// the hosted pages: the forms of WebAuthn Level 3, sections 5.1.8 and 5.1.9, which browsers read
// and write themselves.
namespace berth::api {

// What a browser is asked, and the state that has to come back with its answer.
struct PasskeyQuestion {
  std::string state;
  nlohmann::json options;
};
// A PublicKeyCredentialCreationOptionsJSON for a further passkey of the user, and a
// PublicKeyCredentialRequestOptionsJSON for any of their passkeys; if `user_id` is empty, for any
// passkey of anybody. `bound_to` is that of passkeys::new_challenge(). Throw invalid_state if the
// platform has no passkeys, or the user has no room for another.
PasskeyQuestion ask_for_creation(const accounts::User& user, const std::string& bound_to,
                                 const Services& services);
PasskeyQuestion ask_for_assertion(const std::string& user_id, const std::string& bound_to,
                                  const Services& services);

// What a challenge is bound to: the session for a new passkey, and for an assertion the browser, by
// the cookie that the hosted pages' forms are bound to. Programs have none.
std::string creation_binding(const std::string& session_id);
std::string assertion_binding(const std::string& form_id);
std::string assertion_binding(const Request& request, const Services& services);

// Read an answer: a RegistrationResponseJSON, and an AuthenticationResponseJSON. Throw
// validation_failed for the field `credential` if something is missing or isn't base64url.
webauthn::Creation creation_in(const nlohmann::json& credential);
passkeys::Answer answer_in(const nlohmann::json& credential, const std::string& state,
                           const std::string& bound_to);

}  // namespace berth::api
