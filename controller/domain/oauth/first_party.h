#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::oauth {

// Whether this access token was given to berth's own client (apps/built_in.h), whether or not it
// still works. Returns false for a token that is unknown.
bool is_of_built_in_client(db::Tx& tx, const std::string& access_token);

}  // namespace berth::oauth
