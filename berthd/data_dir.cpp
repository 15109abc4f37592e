#include "berthd/data_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "controller/base/crypto.h"

namespace berth {
namespace {

constexpr mode_t private_file = 0600;
constexpr size_t key_bytes = 32;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw DataDirError(path.string() + ": " + what);
}

std::string error_text() { return std::strerror(errno); }

}  // namespace

std::string text_of(const Keys& keys) {
  nlohmann::json session = nlohmann::json::array();
  const auto session_keys = keys.session.all();
  for (const auto& key : *session_keys) {
    session.push_back({{"id", key.id}, {"secret", base64(key.secret)}});
    if (key.retired_at) session.back()["retired_at"] = to_iso8601(*key.retired_at);
  }
  return nlohmann::json{{"data", base64(keys.data)}, {"session", session}}.dump(2) + "\n";
}

Keys parse_keys(const std::string& text) {
  const auto content = nlohmann::json::parse(text);
  Keys keys;
  keys.data = parse_base64(content.at("data").get<std::string>()).value();
  SessionKeys::List session;
  for (const auto& key : content.at("session"))
    session.push_back({.id = key.at("id"),
                       .secret = parse_base64(key.at("secret").get<std::string>()).value(),
                       .retired_at = parse_iso8601(key.value("retired_at", std::string()))});
  if (keys.data.size() != key_bytes || session.empty())
    throw std::runtime_error("a key is missing");
  keys.session.replace(std::move(session));
  return keys;
}

DataDir::DataDir(const std::filesystem::path& path) : path_(path), lock_(path) {
  std::filesystem::remove(path_ / database_copy_name);  // left by a backup that was killed
  const std::filesystem::path partial = path_ / partial_restore_name;
  if (!std::filesystem::exists(partial)) return;
  if (!std::filesystem::exists(database_file()))
    fail(path_, "a restore into it wasn't completed; run it again");
  std::filesystem::remove_all(partial);  // everything was moved to its place
}

std::optional<std::string> DataDir::read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (std::filesystem::exists(file)) fail(file, "can't be read");
    return std::nullopt;
  }
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

void DataDir::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path target = path_ / name;
  const std::filesystem::path fresh = path_ / (name + ".new");
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, private_file);
  if (file < 0) fail(fresh, error_text());
  const bool stored =
      ::write(file, text.data(), text.size()) == ssize_t(text.size()) && ::fsync(file) == 0;
  ::close(file);
  if (!stored || ::rename(fresh.c_str(), target.c_str()) != 0) fail(target, error_text());
  const int directory = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);  // makes the name durable, too
    ::close(directory);
  }
}

Keys DataDir::keys(const std::filesystem::path& first) const {
  const auto parsed = [](const std::filesystem::path& file, const std::string& text) {
    try {
      return parse_keys(text);
    } catch (const std::exception& failure) {
      fail(file, std::string("is damaged: ") + failure.what());
    }
  };
  if (const auto text = read(path_ / keys_name)) return parsed(path_ / keys_name, *text);
  if (!first.empty()) {
    const auto text = read(first);
    if (!text) fail(first, "is missing");
    Keys keys = parsed(first, *text);
    write(keys_name, *text);
    return keys;
  }
  if (std::filesystem::exists(database_file()))
    fail(path_ / keys_name, "is missing, and the database can't be read without it");
  const Keys fresh = {.data = random_bytes(key_bytes), .session = SessionKeys(rotated({}, {}, {}))};
  write(keys_name, text_of(fresh));
  return fresh;
}

std::string DataDir::rotate_session_key(Keys& keys, Instant now, Duration session_lifetime) const {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  Keys next = {.data = keys.data,
               .session = SessionKeys(rotated(*keys.session.all(), now, session_lifetime))};
  // The key is on disk before it is used, because what it signs must still be valid after a crash.
  write(keys_name, text_of(next));
  keys.session = next.session;
  return keys.session[0].id;
}

std::string DataDir::internal_secret() const {
  if (auto text = read(path_ / secret_name)) {
    while (!text->empty() && text->back() == '\n') text->pop_back();
    if (text->empty()) fail(path_ / secret_name, "is empty");
    return *text;
  }
  const std::string secret = random_token("is_");
  write(secret_name, secret + "\n");
  return secret;
}

}  // namespace berth
