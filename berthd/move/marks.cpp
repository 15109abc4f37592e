#include "berthd/move/marks.h"

#include "berthd/exit_codes.h"
#include "berthd/move/tables.h"
#include "controller/domain/kernel/meta.h"

namespace berth::move {

std::optional<Mark> find_mark(db::Tx& tx) {
  const auto row = meta::find(tx, meta_key::moved_to);
  if (!row) return std::nullopt;
  const size_t end = row->find(' ');
  return Mark{.id = row->substr(0, end),
              .place = end == std::string::npos ? "" : row->substr(end + 1)};
}

void put_mark(db::Tx& tx, const Mark& mark) {
  meta::put(tx, meta_key::moved_to, mark.id + " " + mark.place);
}

std::optional<std::string> moved_from(db::Tx& tx) { return meta::find(tx, meta_key::moved_from); }

void put_moved_from(db::Tx& tx, const std::string& id) { meta::put(tx, meta_key::moved_from, id); }

std::string place_of(const db::postgres::Server& server) {
  const db::postgres::AddressParts parts = db::postgres::parse_address(server.address);
  std::string hosts;
  for (const std::string& host : parts.hosts) hosts += (hosts.empty() ? "" : ", ") + host;
  return "the PostgreSQL database " + (parts.database.empty() ? "of the user" : parts.database) +
         " on " + (hosts.empty() ? "this machine" : hosts);
}

void require_not_moved(db::Tx& tx) {
  if (const auto mark = find_mark(tx))
    throw StartError(exit_moved, "the database was moved to " + mark->place +
                                     " by `berthd migrate`, and is no longer served");
}

}  // namespace berth::move
