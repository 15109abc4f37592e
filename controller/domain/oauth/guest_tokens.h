#pragma once

#include <optional>
#include <string>

#include "controller/domain/oauth/oauth.h"

// The tokens of guests (accounts/guests.h): an app makes a guest with its own credentials, and gets
// the tokens that it would get for a user's consent. Nobody can log in as a guest, so these tokens
// are the only way in, and a guest lives as long as one of them can be refreshed.
namespace berth::oauth {

// The family of a guest's tokens has no practical end, because there is nobody who could authorize
// the app again. Each refresh token still works once, within refresh_token_lifetime.
inline constexpr Duration guest_family_lifetime = std::chrono::days(3650);

struct Guest {
  accounts::User user;
  Tokens tokens;
};
// Makes a guest of the app. The tokens have those of the scopes profile:read, points:read and
// points:spend that the app is approved for. Throws unauthorized_client if the app is a public
// client, or the app or its owner is suspended; and what guests::add() throws.
Guest add_guest(db::Tx& tx, const apps::App& app);

// Starts another session of the guest in the app, because there is no code to get one with. Throws
// invalid_state if the caller isn't a guest, or the app takes no session tokens.
play::Token start_guest_session(db::Tx& tx, const Caller& guest);

// The last time at which one of the guest's tokens can be refreshed; nothing if none can.
std::optional<Instant> guest_refreshable_until(db::Tx& tx, const std::string& guest_id);

// For a guest who has become an account. Their tokens go on working, but for points:spend, which
// only the account's owner can give an app, by its authorization; and their family ends after
// `lifetime`, as any other that begins now.
void keep_tokens_of_guest(db::Tx& tx, const std::string& user_id, Duration lifetime);

}  // namespace berth::oauth
