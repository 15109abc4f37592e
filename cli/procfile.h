#pragma once

#include <string>

#include "cli/run.h"

// A Procfile names what a folder's image is to run (devcenter.heroku.com, "The Procfile").
namespace berth::cli {

// Returns the fields `processes`, `command` and `release_command` of the deployment, as far as the
// text names them: each line that isn't empty or a comment is a name, a colon and a command, which
// a shell runs (/bin/sh -c). The line `release` is the release command. A Procfile with `web` alone
// gives `command`, and `processes` as an empty object, which ends those of an earlier one. `source`
// is for messages. Throws Failure `usage` for a line that is none of these, for a name that isn't a
// process' name or occurs twice, and for too many processes.
json order_in_procfile(const std::string& text, const std::string& source);

}  // namespace berth::cli
