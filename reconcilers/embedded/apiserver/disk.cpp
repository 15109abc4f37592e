#include "reconcilers/embedded/apiserver/disk.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "controller/base/log.h"
#include "controller/db/sqlite/private_file.h"

namespace berth::embedded {
namespace {

constexpr int file_version = 1;  // PRAGMA user_version; increased with each change of the format
constexpr int patience =
    100;  // milliseconds that a statement waits for a lock; nobody else has one

constexpr const char* create_tables = R"(
    CREATE TABLE IF NOT EXISTS cluster_objects (
      plural TEXT NOT NULL,
      name_space TEXT NOT NULL,
      name TEXT NOT NULL,
      content BLOB NOT NULL,
      PRIMARY KEY (plural, name_space, name)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS cluster_version (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      version INTEGER NOT NULL
    ))";
constexpr const char* select_objects = R"(
    SELECT plural, name_space, name, content
    FROM cluster_objects
    ORDER BY plural, name_space, name)";
constexpr const char* select_version = R"(SELECT version FROM cluster_version)";
constexpr const char* store_object = R"(
    INSERT INTO cluster_objects (plural, name_space, name, content)
    VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (plural, name_space, name) DO UPDATE SET content = excluded.content)";
constexpr const char* delete_object = R"(
    DELETE FROM cluster_objects
    WHERE plural = ?1 AND name_space = ?2 AND name = ?3)";
constexpr const char* store_version = R"(
    INSERT INTO cluster_version (only_row, version)
    VALUES (1, ?1)
    ON CONFLICT (only_row) DO UPDATE SET version = excluded.version)";

bool is_secret(Kind kind) { return kind == Kind::secrets; }

void bind_key(SQLite::Statement& statement, const Key& key) {
  statement.reset();
  statement.bind(1, std::string(type_of(key.kind).plural));
  statement.bind(2, key.name_space);
  statement.bind(3, key.name);
}

}  // namespace

Disk::Disk(DiskOptions options) : options_(std::move(options)) {
  try {
    open();
  } catch (const SQLite::Exception& failure) {
    const int code = failure.getErrorCode() & 0xff;
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) throw;
    begin_anew(failure.what());
  }
}

Disk::~Disk() { flush(); }

void Disk::open() {
  std::filesystem::create_directories(options_.file.parent_path());
  db::sqlite::make_private(options_.file);
  database_ = std::make_unique<SQLite::Database>(
      options_.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, patience);
  database_->exec(R"(PRAGMA journal_mode = WAL)");
  database_->exec(R"(PRAGMA synchronous = NORMAL)");
  const int version = database_->execAndGet(R"(PRAGMA user_version)").getInt();
  if (version != 0 && version != file_version)
    return begin_anew("it has the version " + std::to_string(version));
  database_->exec(create_tables);
  database_->exec("PRAGMA user_version = " + std::to_string(file_version));
}

void Disk::begin_anew(const std::string& why) {
  log::warning("the objects of the cluster on disk can't be used, and are made again",
               {{"file", options_.file.string()}, {"reason", why}});
  database_.reset();
  for (const char* end : {"", "-wal", "-shm"})
    std::filesystem::remove(options_.file.string() + end);
  open();
}

Disk::Content Disk::load() {
  Content content;
  try {
    SQLite::Statement version(*database_, select_version);
    if (version.executeStep()) content.version = std::uint64_t(version.getColumn(0).getInt64());
    SQLite::Statement rows(*database_, select_objects);
    while (rows.executeStep()) {
      const Key key{type_named(rows.getColumn(0).getString()).id, rows.getColumn(1).getString(),
                    rows.getColumn(2).getString()};
      std::string text = rows.getColumn(3).getString();
      if (is_secret(key.kind)) {
        auto opened = options_.open(text);
        if (!opened) throw std::invalid_argument("a Secret is encrypted with another key");
        text = std::move(*opened);
      }
      if (!Json::accept(text)) throw std::invalid_argument("an object is damaged");
      content.objects.push_back({key, std::move(text)});
    }
    version_ = content.version;
    return content;
  } catch (const SQLite::Exception& failure) {
    begin_anew(failure.what());
  } catch (const std::invalid_argument& failure) {
    begin_anew(failure.what());
  }
  return {};
}

void Disk::change(const Key& key, std::optional<std::string> text, std::uint64_t version) {
  pending_[key] = std::move(text);
  version_ = version;
}

bool Disk::flush() { return pending_.empty() || try_to_write(); }

// In WAL mode, a commit with FULL syncs the whole log, with the commits before it.
bool Disk::sync() {
  database_->exec(R"(PRAGMA synchronous = FULL)");
  const bool written = try_to_write();
  database_->exec(R"(PRAGMA synchronous = NORMAL)");
  return written;
}

bool Disk::try_to_write() {
  try {
    write();
    pending_.clear();
    if (failing_) log::info("the objects of the cluster are written to disk again", {});
    failing_ = false;
    return true;
  } catch (const SQLite::Exception& failure) {
    if (!failing_)
      log::error("the objects of the cluster can't be written to disk, so that nothing is started",
                 {{"file", options_.file.string()}, {"error", failure.what()}});
    failing_ = true;
    return false;
  }
}

void Disk::write() {
  SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement store(*database_, store_object);
  SQLite::Statement remove(*database_, delete_object);
  for (const auto& [key, text] : pending_) {
    if (!text) {
      bind_key(remove, key);
      remove.exec();
      continue;
    }
    bind_key(store, key);
    const std::string content = is_secret(key.kind) ? options_.seal(*text) : *text;
    store.bind(4, content.data(), int(content.size()));
    store.exec();
  }
  SQLite::Statement version(*database_, store_version);
  version.bind(1, std::int64_t(version_));
  version.exec();
  transaction.commit();
}

}  // namespace berth::embedded
