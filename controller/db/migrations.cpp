#include "controller/db/migrations.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/log.h"

namespace berth::db {

void check_applied(Applied applied, const std::vector<EmbeddedFile>& files) {
  for (const EmbeddedFile& file : files) {
    const auto before = applied.find(std::string(file.name));
    if (before == applied.end()) continue;
    if (before->second != hex(sha256(file.text)))
      throw std::runtime_error("migration " + before->first +
                               " has changed since it ran on this database");
    applied.erase(before);
  }
  if (!applied.empty())
    throw std::runtime_error("the database was written by a newer berthd: it has migration " +
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
