#pragma once

#include <string>

#include "cli/api.h"
#include "cli/credentials.h"
#include "cli/settings.h"

// The login of a CI job by the ID token that its CI service gives it (RFC 8693): BERTH_ID_TOKEN, or
// in GitHub Actions what a job with `permissions: id-token: write` may ask for.
namespace berth::cli {

// Whether the run has an ID token, or can ask for one, and the app is named by its client_id
// (BERTH_APP or --app). Other credentials in the environment come first.
bool is_job(const Settings& settings);
// Whether the job can ask for another ID token. The one in BERTH_ID_TOKEN works once.
bool asks_for_id_tokens(const Settings& settings);
// What distinguishes the logins of jobs that are stored: a hash.
std::string key_of_job(const Settings& settings);
// Exchanges the job's ID token for an access token. Stores nothing. Throws Failure.
Tokens exchange_id_token(Api& api);

}  // namespace berth::cli
