#include "api/resources/oauth/client_auth.h"

#include "api/gate/authenticate.h"
#include "api/gate/encode.h"
#include "controller/base/crypto.h"
#include "controller/base/shares.h"
#include "controller/base/url.h"

namespace berth::api {
namespace {

struct ClientCredentials {
  std::string id;
  std::string secret;
};

// The credentials from HTTP Basic, both of which are form-encoded (RFC 6749, section 2.3.1).
std::optional<ClientCredentials> basic_credentials(const Request& request) {
  const auto encoded = credentials(request, "Basic");
  if (!encoded) return std::nullopt;
  const auto plain = parse_base64(*encoded);
  const size_t colon = plain ? plain->find(':') : std::string::npos;
  if (colon == std::string::npos)
    throw Error(Code::invalid_client, "the Basic credentials can't be read");
  const auto id = percent_decode(std::string_view(*plain).substr(0, colon), Plus::is_blank);
  const auto secret = percent_decode(std::string_view(*plain).substr(colon + 1), Plus::is_blank);
  if (!id || !secret) throw Error(Code::invalid_client, "the Basic credentials can't be read");
  return ClientCredentials{*id, *secret};
}

// A parameter with an empty value counts as missing (RFC 6749, section 3.2).
std::optional<std::string> parameter(const json& body, const char* name) {
  auto value = text_or_nothing(body, name);
  return value && value->empty() ? std::nullopt : value;
}

}  // namespace

namespace {

apps::App authenticated(db::Tx& tx, const Call& call) {
  const auto id = parameter(call.body, "client_id");
  const auto secret = parameter(call.body, "client_secret");
  if (const auto basic = basic_credentials(call.http)) {
    // A client must not authenticate in two ways at once (RFC 6749, section 2.3).
    if (secret)
      throw Error(Code::invalid_request, "client_secret was sent twice: in Basic and in the body");
    if (id && *id != basic->id)
      throw Error(Code::invalid_request, "client_id differs from the one in Basic");
    // Libraries send a public client's id with an empty password.
    return basic->secret.empty() ? apps::public_client(tx, basic->id)
                                 : apps::authenticate(tx, basic->id, basic->secret);
  }
  if (!id) throw Error(Code::invalid_client, "client_id and client_secret are required");
  return secret ? apps::authenticate(tx, *id, *secret) : apps::public_client(tx, *id);
}

}  // namespace

apps::App authenticated_client(db::Tx& tx, const Call& call) {
  apps::App client = authenticated(tx, call);
  ClaimantOfThread::set_app(client.id);
  return client;
}

apps::App confidential_client(db::Tx& tx, const Call& call) {
  apps::App client = authenticated_client(tx, call);
  if (client.is_public) throw Error(Code::invalid_client, "a public client can't prove who it is");
  return client;
}

std::optional<apps::App> client_if_authenticated(db::Tx& tx, const Call& call) {
  if (!credentials(call.http, "Basic") && !parameter(call.body, "client_secret"))
    return std::nullopt;
  return authenticated_client(tx, call);
}

}  // namespace berth::api
