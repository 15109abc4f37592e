#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/files.h"

// What lets the client in, kept between runs: `credentials.json`, mode 0600. There the secrets
// stand in plain, as those of ssh, gh and kubectl do: the file's mode protects them.
namespace berth::cli {

enum class Grant { authorization_code, client_credentials };

struct Tokens {
  std::string access_token;
  std::string refresh_token;    // empty for client credentials
  std::string scope;            // separated by blanks
  std::int64_t expires_at = 0;  // of the access token, in seconds since 1970
  Grant grant = Grant::authorization_code;
};

// An OAuth app that the client acts for.
struct StoredApp {
  std::string client_id;
  std::string id;
  std::string name;
  std::string client_secret;
  std::string redirect_uri;
  std::vector<std::string> scopes;  // that it registered
  std::optional<Tokens> tokens;
};

// The account's own login: apps, scopes and everything else that no app's token opens.
struct StoredSession {
  std::string jwt;
  std::string email;
  std::string username;
};

// What is known for one server.
struct Account {
  std::optional<StoredSession> session;
  std::map<std::string, StoredApp> apps;  // by client id
  std::string current;                    // client id of the app in use; empty for none

  // By client id, id or name; the one in use where `choice` is empty; null where there is none.
  StoredApp* find(const std::string& choice);
};

class CredentialStore {
 public:
  explicit CredentialStore(std::filesystem::path state_dir) : dir_(std::move(state_dir)) {}

  std::filesystem::path file() const { return dir_ / "credentials.json"; }
  // Throws Failure failed where the file is damaged.
  Account load(const std::string& server) const;
  // Reads, changes and writes while no other client does, so that nobody's change gets lost.
  // `change` may take as long as an exchange with the server. Where it throws, nothing is written.
  void update(const std::string& server, const std::function<void(Account&)>& change);

 private:
  std::filesystem::path dir_;
};

}  // namespace berth::cli
