#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/files.h"

// The credentials that are kept between runs, in `credentials.json` with mode 0600. They are stored
// in plain text, as ssh, gh and kubectl do; the mode protects the file.
namespace berth::cli {

enum class Grant { authorization_code, client_credentials, id_token };

struct Tokens {
  std::string access_token;
  std::string refresh_token;    // empty for client credentials and ID tokens
  std::string scope;            // separated by spaces
  std::int64_t expires_at = 0;  // when the access token expires, in seconds since 1970
  Grant grant = Grant::authorization_code;
};

// An OAuth app that the client acts for.
struct StoredApp {
  std::string client_id;
  std::string id;
  std::string name;
  std::string client_secret;
  std::string redirect_uri;
  std::vector<std::string> scopes;  // the scopes that it registered
  std::optional<Tokens> tokens;
};

// The login of the account itself, for apps, scopes and everything else that no app's token gives
// access to.
struct StoredSession {
  std::string jwt;
  std::string email;
  std::string username;
};

// A login that the person confirmed in a browser, so that this program never had their password:
// tokens of berth's own client, which work for all of the person's apps.
struct StoredLogin {
  Tokens tokens;
  std::string email;
  std::string username;
};

// The login of the CI job that the client runs in (job_login.h), so that each of its commands finds
// the access token that the first one got: an ID token works once.
struct StoredJob {
  std::string key;  // key_of_job()
  Tokens tokens;
};

// What is stored for one server.
struct Account {
  std::optional<StoredSession> session;
  std::optional<StoredLogin> login;
  std::optional<StoredJob> job;
  std::map<std::string, StoredApp> apps;  // by client id
  std::string current;  // the client id of the current app; empty if there is none

  // Finds an app by client id, id or name. An empty `choice` means the current app. Returns null if
  // there is none. Throws Failure `usage`, with the ids, if several apps have the name.
  StoredApp* find(const std::string& choice);
};

// Reads and writes credentials.json. Several processes may use it at the same time.
class CredentialStore {
 public:
  explicit CredentialStore(std::filesystem::path state_dir) : dir_(std::move(state_dir)) {}

  // Empty if there is no directory.
  std::filesystem::path file() const { return dir_.empty() ? dir_ : dir_ / "credentials.json"; }
  // The credentials for one server; none if there is no directory (Places). Throws Failure `failed`
  // if the file is damaged.
  Account load(const std::string& server) const;
  // Reads, changes and writes the file while no other client does, so that no change is lost.
  // `change` may take as long as an exchange with the server. If it throws, nothing is written.
  // Throws Failure `usage` if there is no directory.
  void update(const std::string& server, const std::function<void(Account&)>& change);

 private:
  std::filesystem::path dir_;
};

}  // namespace berth::cli
