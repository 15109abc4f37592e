#include "controller/base/error.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

constexpr std::array codes = {
    CodeInfo{Code::invalid_json, "invalid_json", 400,
             "The body isn't JSON, is nested too deeply or has too many values."},
    CodeInfo{Code::query_too_short, "query_too_short", 400, "The search text is too short."},
    CodeInfo{Code::malformed_request, "malformed_request", 400, "The request can't be understood."},
    CodeInfo{Code::invalid_request, "invalid_request", 400,
             "A parameter is missing, repeated or malformed (RFC 6749, section 5.2)."},
    CodeInfo{Code::invalid_grant, "invalid_grant", 400,
             "The code is unknown, expired, used, or belongs to another client, redirect URI or "
             "verifier."},
    CodeInfo{Code::invalid_scope, "invalid_scope", 400,
             "A scope is unknown or not approved for this app."},
    CodeInfo{Code::unsupported_grant_type, "unsupported_grant_type", 400,
             "This grant type isn't supported."},
    CodeInfo{Code::unsupported_response_type, "unsupported_response_type", 400,
             "Only response_type=code is supported."},
    CodeInfo{Code::unauthorized_client, "unauthorized_client", 400,
             "The client may not use this grant type."},
    CodeInfo{Code::invalid_token, "invalid_token", 401,
             "The token is missing, malformed or unknown."},
    CodeInfo{Code::token_expired, "token_expired", 401, "The token has expired."},
    CodeInfo{Code::token_revoked, "token_revoked", 401, "The token was revoked."},
    CodeInfo{Code::wrong_token_type, "wrong_token_type", 401,
             "Another kind of token is needed here."},
    CodeInfo{Code::invalid_credentials, "invalid_credentials", 401,
             "The address or the password is wrong."},
    CodeInfo{Code::totp_required, "totp_required", 401, "The account requires a totp_code."},
    CodeInfo{Code::invalid_totp, "invalid_totp", 401, "The totp_code is wrong or was used before."},
    CodeInfo{Code::invalid_client, "invalid_client", 401,
             "The client is unknown or its secret is wrong."},
    CodeInfo{Code::consumed_refresh_token, "invalid_grant", 401,
             "The refresh token is unknown, consumed, expired or revoked."},
    CodeInfo{Code::insufficient_user_authentication, "insufficient_user_authentication", 401,
             "The password or second factor was last entered in this session too long ago (RFC "
             "9470); send the password with the request, or log in again."},
    CodeInfo{Code::insufficient_scope, "insufficient_scope", 403,
             "The token lacks a required scope."},
    CodeInfo{Code::forbidden, "forbidden", 403,
             "The resource belongs to somebody else or is for admins only."},
    CodeInfo{Code::email_not_verified, "email_not_verified", 403,
             "The email address must be verified first."},
    CodeInfo{Code::tier_not_allowed, "tier_not_allowed", 403,
             "An admin must promote the app to this tier first."},
    CodeInfo{Code::account_suspended, "account_suspended", 403,
             "The account or the app is suspended."},
    CodeInfo{Code::deployment_suspended, "deployment_suspended", 403,
             "An admin has suspended this deployment."},
    CodeInfo{Code::not_found, "not_found", 404, "Nothing exists at this path."},
    CodeInfo{Code::app_not_found, "app_not_found", 404, "There is no such app."},
    CodeInfo{Code::deployment_not_found, "deployment_not_found", 404,
             "There is no such deployment."},
    CodeInfo{Code::domain_not_found, "domain_not_found", 404,
             "The deployment has no custom domain."},
    CodeInfo{Code::scope_request_not_found, "scope_request_not_found", 404,
             "There is no such scope request."},
    CodeInfo{Code::tier_not_found, "tier_not_found", 404, "There is no such tier."},
    CodeInfo{Code::user_not_found, "user_not_found", 404, "There is no such user."},
    CodeInfo{Code::session_not_found, "session_not_found", 404, "There is no such session."},
    CodeInfo{Code::device_not_found, "device_not_found", 404, "There is no such device."},
    CodeInfo{Code::log_entry_not_found, "log_entry_not_found", 404,
             "The deployment has no such log entry."},
    CodeInfo{Code::webhook_not_found, "webhook_not_found", 404, "There is no such webhook."},
    CodeInfo{Code::campaign_not_found, "campaign_not_found", 404, "There is no such campaign."},
    CodeInfo{Code::no_ad_available, "no_ad_available", 404, "No campaign matches at the moment."},
    CodeInfo{Code::placement_not_found, "placement_not_found", 404,
             "There is no such ad placement."},
    CodeInfo{Code::pricing_not_found, "pricing_not_found", 404, "There is no such pricing."},
    CodeInfo{Code::segment_not_found, "segment_not_found", 404,
             "There is no such audience segment."},
    CodeInfo{Code::package_not_found, "package_not_found", 404, "There is no such ad package."},
    CodeInfo{Code::purchase_not_found, "purchase_not_found", 404, "There is no such purchase."},
    CodeInfo{Code::friendship_not_found, "friendship_not_found", 404,
             "There is no such friendship."},
    CodeInfo{Code::channel_not_found, "channel_not_found", 404, "There is no such chat channel."},
    CodeInfo{Code::message_not_found, "message_not_found", 404, "There is no such message."},
    CodeInfo{Code::cosmetic_not_found, "cosmetic_not_found", 404,
             "There is no such cosmetic item."},
    CodeInfo{Code::module_not_found, "module_not_found", 404, "There is no such learning module."},
    CodeInfo{Code::build_not_found, "build_not_found", 404, "There is no such build."},
    CodeInfo{Code::creative_not_found, "creative_not_found", 404,
             "There is no such creative of an ad, or its picture is gone."},
    CodeInfo{Code::method_not_allowed, "method_not_allowed", 405,
             "The path supports other methods; see the Allow header."},
    CodeInfo{Code::subdomain_taken, "subdomain_taken", 409, "Another deployment has this name."},
    CodeInfo{Code::domain_taken, "domain_taken", 409, "Another deployment has this domain."},
    CodeInfo{Code::already_owned, "already_owned", 409, "The user already owns this item."},
    CodeInfo{Code::idempotency_conflict, "idempotency_conflict", 409,
             "The Idempotency-Key was used with another body."},
    CodeInfo{Code::invalid_state, "invalid_state", 409, "The resource's state doesn't allow this."},
    CodeInfo{Code::body_too_large, "body_too_large", 413,
             "The body is larger than max-body-bytes."},
    CodeInfo{Code::unsupported_media_type, "unsupported_media_type", 415, "The body must be JSON."},
    CodeInfo{Code::headers_too_large, "headers_too_large", 431,
             "The request's headers are too large."},
    CodeInfo{Code::validation_failed, "validation_failed", 422,
             "Fields are missing or wrong (see details)."},
    CodeInfo{Code::insufficient_balance, "insufficient_balance", 422,
             "The balance is lower than the amount."},
    CodeInfo{Code::unsupported_registry, "unsupported_registry", 422,
             "The image must come from an allowed registry."},
    CodeInfo{Code::unknown_tier, "unknown_tier", 422, "There is no tier with this slug."},
    CodeInfo{Code::payment_method_unsupported, "payment_method_unsupported", 422,
             "The tier's payment method isn't supported."},
    CodeInfo{Code::deployment_destroyed, "deployment_destroyed", 422,
             "The deployment was deleted."},
    CodeInfo{Code::app_limit_reached, "app_limit_reached", 422,
             "The account has reached its limit of apps."},
    CodeInfo{Code::spend_limit_reached, "spend_limit_reached", 422,
             "The app has reached the user's spending limit for today."},
    CodeInfo{Code::bonus_locked, "bonus_locked", 422,
             "Some of the points are a bonus, which can't reach this recipient, or pay for this, "
             "before the user has spent 100 points of their own in other people's apps."},
    CodeInfo{Code::cosmetic_unavailable, "cosmetic_unavailable", 422,
             "The item isn't available at the moment."},
    CodeInfo{Code::builds_unavailable, "builds_unavailable", 422,
             "This berthd builds no images. `berth up . --local` builds with the podman, docker or "
             "buildah of your own machine and pushes the image to a registry."},
    CodeInfo{Code::rate_limited, "rate_limited", 429,
             "Too many requests, or as much was stored as is allowed in one day; see Retry-After."},
    CodeInfo{Code::deployment_limit_reached, "deployment_limit_reached", 429,
             "The account has reached its limit of deployments of this tier."},
    CodeInfo{Code::build_limit_reached, "build_limit_reached", 429,
             "The account has too many builds that are waiting or running, or images of builds "
             "that are too large."},
    CodeInfo{Code::internal_error, "internal_error", 500,
             "berthd failed; its log has an entry with this request's id."},
    CodeInfo{Code::unavailable, "unavailable", 503,
             "berthd can't do this at the moment; nothing was changed."},
    CodeInfo{Code::too_slow, "too_slow", 503,
             "The request took too long in the database and was stopped; nothing was changed. Try "
             "again later, or ask for less (see Retry-After)."},
};

constexpr bool in_order() {
  for (size_t i = 0; i < codes.size(); ++i)
    if (static_cast<size_t>(codes[i].code) != i) return false;
  return true;
}
static_assert(in_order(), "a row for each code, in the order of the enum");

}  // namespace

const CodeInfo& info(Code code) { return codes.at(static_cast<size_t>(code)); }
std::span<const CodeInfo> all_codes() { return codes; }

}  // namespace berth
