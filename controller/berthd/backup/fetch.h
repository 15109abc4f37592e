#pragma once

#include <filesystem>
#include <string>

#include "controller/berthd/backup/restore.h"

namespace berth::backup {

struct Fetch {
  std::string url;  // of the running berthd, without a slash behind it
  std::string internal_secret;
  std::string passphrase;
  std::filesystem::path file;
};

// Asks a running berthd for an archive and writes it to `file`. The passphrase stays here: only the
// key of this one archive is sent. What comes is opened again while it is written, so that `file`
// is an archive that can be restored, or is as it was: it appears, with mode 0600, when it is
// complete and on disk. Throws std::runtime_error.
void fetch(const Fetch& fetch, const Progress& progress);

}  // namespace berth::backup
