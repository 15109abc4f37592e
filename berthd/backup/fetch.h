#pragma once

#include <filesystem>
#include <string>

#include "berthd/backup/restore.h"

namespace berth::backup {

struct Fetch {
  std::string url;  // the URL of the running berthd, without a slash at the end
  std::string internal_secret;
  std::string passphrase;
  std::filesystem::path file;
};

// Asks a running berthd for an archive and writes it to `file`. The passphrase isn't sent, only the
// key of this one archive. The archive is decrypted and checked while it is written, and `file`
// appears, with mode 0600, only when it is complete and durable; if anything fails, an older `file`
// stays as it was. Throws std::runtime_error.
void fetch(const Fetch& fetch, const Progress& progress);

}  // namespace berth::backup
