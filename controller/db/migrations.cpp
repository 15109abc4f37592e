#include "controller/db/migrations.h"

#include "controller/base/crypto.h"
#include "controller/base/log.h"

namespace berth::db {
namespace {

std::string too_old() {
  std::string text =
      "the database was written before version 1.0.0 of the schema; the last commit of berth that "
      "can read it is ";
  return text.append(last_commit_before_schema);
}

}  // namespace

SchemaTooOld::SchemaTooOld() : UnusableSchema(too_old()) {}

void check_applied(Applied applied, const std::vector<EmbeddedFile>& files) {
  if (!applied.empty() && !applied.contains(std::string(files.front().name))) throw SchemaTooOld();
  for (const EmbeddedFile& file : files) {
    const auto before = applied.find(std::string(file.name));
    if (before == applied.end()) continue;
    if (before->second != hex(sha256(file.text)))
      throw UnusableSchema("migration " + before->first +
                           " has changed since it ran on this database");
    applied.erase(before);
  }
  if (!applied.empty())
    throw UnusableSchema("the database was written by a newer berthd: it has migration " +
                         applied.begin()->first);
}

std::vector<EmbeddedFile> missing(const Applied& applied, const std::vector<EmbeddedFile>& files) {
  check_applied(applied, files);
  std::vector<EmbeddedFile> left;
  for (const EmbeddedFile& file : files)
    if (!applied.contains(std::string(file.name))) left.push_back(file);
  return left;
}

void log_migration(const Applied& applied, const EmbeddedFile& file) {
  if (applied.empty()) return;
  log::info("changing the database, which may take minutes if it is large",
            {{"migration", std::string(file.name)}});
}

}  // namespace berth::db
