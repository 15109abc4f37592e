#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/kernel/keys.h"

// Tokens that somebody has found where they don't belong, such as in a public repository. Whoever
// reports one has it, and so could use it; ending it is the least that they could do with it.
namespace berth::reported_tokens {

// Whether report() would end something. Writes nothing.
bool is_any_living(db::Tx& tx, const std::string& token);
// Ends the token: a personal token alone, an access or refresh token with all tokens of the same
// authorization. Tells its owner by mail, and writes an entry of the audit log. Returns the owner's
// id. Does and returns nothing for other texts, and for tokens that have ended already.
std::optional<std::string> report(db::Tx& tx, const std::string& token, const Keys& keys,
                                  const std::string& base_url);

}  // namespace berth::reported_tokens
