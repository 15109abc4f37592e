#pragma once

#include <stdexcept>
#include <string>

namespace berth::db::postgres {

// PostgreSQL refused a statement for a reason that the others below don't cover: a mistake in SQL.
struct Failure : std::runtime_error {
  Failure(const std::string& what, std::string state)
      : std::runtime_error(what), sqlstate(std::move(state)) {}
  const std::string sqlstate;  // appendix A of PostgreSQL's manual
};

// The server can't be reached, or takes no statements of this kind at the moment: it is starting,
// is shutting down, has become a standby, or has no disk or memory left.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The message for a server that goes on after another one has taken over (History::is_before). The
// guide for SREs quotes it.
inline constexpr const char* replaced = "another server has taken over from the database's";

// The transaction had a serialization failure or a deadlock, and has to be retried.
struct Collision : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace berth::db::postgres
