#pragma once

namespace berth::db::sqlite {

// SQLite waits this long for a lock of another process, such as the sqlite3 tool.
inline constexpr int busy_timeout_ms = 5'000;

}  // namespace berth::db::sqlite
