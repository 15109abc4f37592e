#pragma once

#include <string_view>

#include "controller/db/database.h"

// berth's own OAuth client: the command line. It is a public client that works for all apps of the
// person who logs in, so nobody has to register an app before.
namespace berth::apps {

inline constexpr std::string_view built_in_client_id = "berth";
// Creates the client unless it exists. Its owner is accounts::keeper_id, so nobody can change or
// delete it.
void add_built_in(db::Tx& tx);

}  // namespace berth::apps
