#include "cli/credentials.h"

#include <nlohmann/json.hpp>

#include "cli/config.h"
#include "cli/failure.h"

namespace berth::cli {
namespace {

constexpr int file_version = 1;

const char* text_of(Grant grant) {
  switch (grant) {
    case Grant::client_credentials:
      return "client_credentials";
    case Grant::id_token:
      return "id_token";
    case Grant::authorization_code:
      break;
  }
  return "authorization_code";
}

Grant grant_in(const std::string& text) {
  for (const Grant grant : {Grant::client_credentials, Grant::id_token})
    if (text == text_of(grant)) return grant;
  return Grant::authorization_code;
}

json encode(const Tokens& tokens) {
  return {{"access_token", tokens.access_token},
          {"refresh_token", tokens.refresh_token},
          {"scope", tokens.scope},
          {"expires_at", tokens.expires_at},
          {"grant", text_of(tokens.grant)}};
}

Tokens decode_tokens(const json& stored) {
  return {.access_token = stored.at("access_token"),
          .refresh_token = stored.at("refresh_token"),
          .scope = stored.at("scope"),
          .expires_at = stored.at("expires_at"),
          .grant = grant_in(stored.at("grant"))};
}

json encode(const StoredApp& app) {
  json stored = {{"id", app.id},
                 {"name", app.name},
                 {"client_secret", app.client_secret},
                 {"redirect_uri", app.redirect_uri},
                 {"scopes", app.scopes}};
  if (app.tokens) stored["tokens"] = encode(*app.tokens);
  return stored;
}

StoredApp decode_app(const std::string& client_id, const json& stored) {
  StoredApp app = {.client_id = client_id,
                   .id = stored.at("id"),
                   .name = stored.at("name"),
                   .client_secret = stored.at("client_secret"),
                   .redirect_uri = stored.at("redirect_uri"),
                   .scopes = stored.at("scopes").get<std::vector<std::string>>(),
                   .tokens = {}};
  if (stored.contains("tokens")) app.tokens = decode_tokens(stored.at("tokens"));
  return app;
}

json encode(const Account& account) {
  json stored = {{"current", account.current}, {"apps", json::object()}};
  if (account.session)
    stored["session"] = {{"jwt", account.session->jwt},
                         {"email", account.session->email},
                         {"username", account.session->username}};
  if (account.login)
    stored["login"] = {{"tokens", encode(account.login->tokens)},
                       {"email", account.login->email},
                       {"username", account.login->username}};
  if (account.job)
    stored["job"] = {{"key", account.job->key}, {"tokens", encode(account.job->tokens)}};
  for (const auto& [client_id, app] : account.apps) stored["apps"][client_id] = encode(app);
  return stored;
}

Account decode_account(const json& stored) {
  Account account;
  account.current = stored.at("current");
  if (const auto session = stored.find("session"); session != stored.end())
    account.session = StoredSession{.jwt = session->at("jwt"),
                                    .email = session->at("email"),
                                    .username = session->at("username")};
  if (const auto login = stored.find("login"); login != stored.end())
    account.login = StoredLogin{.tokens = decode_tokens(login->at("tokens")),
                                .email = login->at("email"),
                                .username = login->at("username")};
  if (const auto job = stored.find("job"); job != stored.end())
    account.job = StoredJob{.key = job->at("key"), .tokens = decode_tokens(job->at("tokens"))};
  for (const auto& [client_id, app] : stored.at("apps").items())
    account.apps.emplace(client_id, decode_app(client_id, app));
  return account;
}

Failure damaged(const std::filesystem::path& file) {
  return Failure(Exit::failed, file.string() + " can't be read", "Remove it and log in again.");
}

json read_all(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return {{"version", file_version}, {"servers", json::object()}};
  json content = json::parse(*text, nullptr, false);
  if (!content.is_object() || content.value("version", json()) != file_version ||
      !content.value("servers", json()).is_object())
    throw damaged(file);
  return content;
}

Account account_in(const json& content, const std::string& server,
                   const std::filesystem::path& file) {
  const auto stored = content.at("servers").find(server);
  if (stored == content.at("servers").end()) return {};
  try {
    return decode_account(*stored);
  } catch (const json::exception&) {
    throw damaged(file);
  }
}

}  // namespace

StoredApp* Account::find(const std::string& choice) {
  const std::string& wanted = choice.empty() ? current : choice;
  if (const auto by_client_id = apps.find(wanted); by_client_id != apps.end())
    return &by_client_id->second;
  std::vector<StoredApp*> found;
  for (auto& [client_id, app] : apps) {
    if (!wanted.empty() && app.id == wanted) return &app;
    if (!wanted.empty() && app.name == wanted) found.push_back(&app);
  }
  if (found.size() < 2) return found.empty() ? nullptr : found[0];
  Failure failure(Exit::usage, "several apps are called " + wanted + ": name one by its id");
  for (const StoredApp* app : found) failure.details.push_back(app->id);
  throw failure;
}

Account CredentialStore::load(const std::string& server) const {
  if (dir_.empty()) return {};
  return account_in(read_all(file()), server, file());
}

void CredentialStore::update(const std::string& server,
                             const std::function<void(Account&)>& change) {
  if (dir_.empty()) throw no_place("the login", "XDG_STATE_HOME");
  const FileLock lock(dir_ / "credentials.lock");
  json content = read_all(file());
  Account account = account_in(content, server, file());
  change(account);
  if (account.session || account.login || account.job || !account.apps.empty())
    content["servers"][server] = encode(account);
  else
    content["servers"].erase(server);
  write_file(file(), content.dump(2) + "\n", Access::owner_alone);
}

}  // namespace berth::cli
