#pragma once

#include <string>

#include "api/gate/call.h"
#include "controller/domain/kernel/page.h"

// Cursors, with which callers ask for the next page of a list. A cursor is a JSON array in
// base64url. It contains the position of the last row that the caller has seen (its values of the
// columns that the list is sorted by), the number of the next page, and a hash of the operation,
// its path and its filters. It isn't secret and grants nothing: a request with a cursor is
// authorized like any other.
namespace berth::api {

// Returns the cursor that leads to page `page` of the list that `call` asks for.
std::string write_cursor(const Call& call, int page, const json& position);

// Returns the request for the page that the cursor leads to. Throws validation_failed unless
// write_cursor() wrote the cursor for the same operation, path and filters.
PageRequest read_cursor(const Call& call, const std::string& cursor, int page_size);

// Returns the position behind a page as the JSON that write_cursor() takes; null for no position,
// which means that the page is the last one.
json encode_position(const std::optional<Position>& position);

}  // namespace berth::api
