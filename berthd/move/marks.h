#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/db/postgres/server.h"

// What `berthd migrate` leaves in both databases, so that nobody serves from the old one, or from a
// new one that isn't complete.
namespace berth::move {

// The mark that a move leaves in the database that it has moved.
struct Mark {
  std::string id;     // the id of the move
  std::string place;  // where the rows went, for messages
};
std::optional<Mark> find_mark(db::Tx& tx);
void put_mark(db::Tx& tx, const Mark& mark);

// The id of the move that made this database; nothing if it wasn't made by a move.
std::optional<std::string> moved_from(db::Tx& tx);
void put_moved_from(db::Tx& tx, const std::string& id);

// Describes where a PostgreSQL database is, without its password.
std::string place_of(const db::postgres::Server& server);

// Throws StartError with exit_moved if the database was moved elsewhere.
void require_not_moved(db::Tx& tx);

}  // namespace berth::move
