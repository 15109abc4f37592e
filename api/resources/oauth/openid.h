#pragma once

#include <expected>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/gate/services.h"
#include "api/resources/oauth/redirect.h"
#include "controller/domain/oauth/openid.h"

// What the API and the hosted pages share of OpenID Connect.
namespace berth::api {

openid::Issuer issuer_of(const Services& services);

// The path of the page to which apps send a browser to log out.
inline constexpr const char* end_session_path = "/end-session";

// Creates a code as oauth::authorize() does. With prompt=none, a user other than the one in
// id_token_hint is refused with login_required (OpenID Connect Core 1.0, section 3.1.2.1).
std::expected<oauth::AuthorizationCode, Error> code_for(
    db::Tx& tx, const AuthorizationQuestion& question, const accounts::User& user,
    const std::string& session_id, const Services& services,
    const std::optional<play::SessionAccess>& session_access = {});

// Puts the document of the client into the question if the client isn't registered. It may have to
// be fetched first, so no transaction may be open. Throws as oauth::ClientDocuments::find().
void fetch_client(AuthorizationQuestion& question, const Services& services);

// The metadata of the authorization server (RFC 8414) and of the OpenID provider (OpenID Connect
// Discovery 1.0, section 3): one document, which is served at the addresses of both.
nlohmann::json server_metadata(const Services& services);

}  // namespace berth::api
