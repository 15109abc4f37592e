#pragma once

#include <string>

#include "api/gate/route.h"
#include "controller/domain/kernel/page.h"

// Cursors, by which callers go on with a list. A cursor is a position in the list (the values of
// the columns that it is sorted by, as a row that the caller has seen had them) in base64url, with
// the number of its page and a hash of the operation, its path and its filters. It isn't secret and
// gives no right to anything: who may see which rows is decided as without one.
namespace berth::api {

// Returns the cursor that leads to page `page` of the list that `call` asks for.
std::string write_cursor(const Call& call, int page, const json& position);

// Returns the page that the cursor leads to. Throws validation_failed unless it was written for the
// same operation, path and filters.
PageRequest read_cursor(const Call& call, const std::string& cursor, int page_size);

// The position of a page as JSON, which write_cursor() takes; null if the list ends with it.
json encode_position(const std::optional<Position>& position);

}  // namespace berth::api
