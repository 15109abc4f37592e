#pragma once

#include <string>
#include <string_view>

#include "controller/db/database.h"

namespace berth::audit {

// Records what an admin did, in the transaction that does it. `details` is a JSON object.
void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details = "{}");

}  // namespace berth::audit
