// OpenID Connect: what apps learn of who has logged in, and of the keys that sign it.
#include "api/resources/oauth/openid.h"

#include "api/resources/internal.h"
#include "api/resources/shared.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/openid_keys.h"

namespace berth::api {
namespace {

Reply userinfo(db::Tx& tx, const Call& call, const Services&) {
  const auto user = accounts::find(tx, call.caller->user_id);
  if (!user) throw Error(Code::token_revoked, "the account was deleted");
  return {.body = openid::claims_about(tx, *user, call.caller->scopes)};
}

Reply configuration(const Call&, const Services& services) {
  return {.body = server_metadata(services)};
}

// The first request of all makes the keys, unless the loop has made them before.
Reply published_keys(const Call&, const Services& services) {
  auto keys =
      services.db.read([&](db::Tx& tx) { return openid::signing_keys(tx, services.keys.data); });
  if (!keys)
    keys = services.db.write(
        [&](db::Tx& tx) { return openid::signing_keys_or_new(tx, services.keys.data); });
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(openid::published_for);
  return {.body = openid::published_keys(*keys, services.clock.now()),
          .headers = {{"Cache-Control", "public, max-age=" + std::to_string(seconds.count())}}};
}

Reply rotate_keys(const Call& call, const Services& services) {
  const openid::KeyPair fresh = openid::new_key_pair();
  const auto ids = services.db.write([&](db::Tx& tx) {
    const auto rotated = openid::rotate_signing_keys(tx, services.keys.data, fresh);
    audit::record(tx, call.admin, "openid_keys.rotate", rotated.front());
    return rotated;
  });
  return {.body = {{"kids", ids}}};
}

constexpr Rate publications = per_minute(60);  // for each network
// For one address, which may be the server of an app with many users.
constexpr Rate questions = per_minute(600);

// Neither the console nor berth's own client logs in by OpenID Connect.
constexpr Access openid_token = {Access::Kind::oauth, {Scope::openid}};

constexpr std::string_view about_userinfo =
    "Returns the claims of OpenID Connect about the user of the access token: sub, and what the "
    "scopes profile and email give. The token needs the scope openid.";

constexpr Route rows[] = {
    {.request = "GET /api/oauth/userinfo",
     .name = "userinfo",
     .tag = "OAuth",
     .summary = "Show who has logged in (OpenID Connect Core 1.0, section 5.3)",
     .text = about_userinfo,
     .guards = {with_pages_of_apps(openid_token), questions, Shape::oauth},
     .answer = {200, "Userinfo"},
     .read_committed = true,
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{userinfo}},
    {.request = "POST /api/oauth/userinfo",
     .name = "userinfoByPost",
     .tag = "OAuth",
     .summary = "Show who has logged in, by POST (OpenID Connect Core 1.0, section 5.3)",
     .text = about_userinfo,
     .guards = {with_pages_of_apps(openid_token), questions, Shape::oauth},
     .stores = Stores::nothing,
     .answer = {200, "Userinfo"},
     .read_committed = true,
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{userinfo}},
    {.request = "GET /.well-known/openid-configuration",
     .name = "openidConfiguration",
     .tag = "Meta",
     .summary = "OpenID provider metadata (OpenID Connect Discovery 1.0)",
     .text = "Tells OpenID Connect clients the endpoints and what they support: the same document "
             "as oauth-authorization-server.",
     .guards = {with_any_page(open_to_all()), publications},
     .answer = {200, "AuthorizationServerMetadata"},
     .served_by = {.neither = "OpenID Connect clients read it on their own."},
     .run = FreeHandler{configuration}},
    {.request = "GET /.well-known/jwks.json",
     .name = "openidKeys",
     .tag = "Meta",
     .summary = "Publish the keys with which ID tokens are signed",
     .text = "Returns the public keys of ID tokens and logout tokens as a JWK set (RFC 7517): "
             "those that sign, those that sign next, and former ones until the last token that "
             "they signed has expired.",
     .guards = {with_any_page(open_to_all()), publications},
     .stores = Stores::nothing,
     .answer = {200, "JsonWebKeys"},
     .served_by = {.neither = "OpenID Connect clients read it on their own."},
     .run = FreeHandler{published_keys}},
    {.request = "POST /api/internal/openid-keys/rotate",
     .name = "rotateOpenidKeys",
     .tag = "Internal",
     .summary = "Sign ID tokens with the next keys from now on",
     .text = "Has the keys sign that have been published as the next ones, and publishes new next "
             "ones. The former keys stay published until the last token that they signed has "
             "expired. This happens by itself every 90 days; it is refused while the next keys "
             "have been published for less than an hour, because clients may not know them yet.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "OpenidKeyIds"},
     .errors = {Code::invalid_state},
     .served_by = {.neither = "It happens by itself."},
     .run = FreeHandler{rotate_keys}},
};

}  // namespace

std::span<const Route> openid_routes() { return rows; }

}  // namespace berth::api
