#include "controller/data_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
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

std::string encode(const Keys& keys) {
  nlohmann::json session = nlohmann::json::array();
  for (const auto& key : keys.session)
    session.push_back({{"id", key.id}, {"secret", base64(key.secret)}});
  return nlohmann::json{{"data", base64(keys.data)}, {"session", session}}.dump(2) + "\n";
}

}  // namespace

Keys parse_keys(const std::string& text) {
  const auto content = nlohmann::json::parse(text);
  Keys keys;
  keys.data = parse_base64(content.at("data").get<std::string>()).value();
  for (const auto& key : content.at("session"))
    keys.session.push_back(
        {key.at("id"), parse_base64(key.at("secret").get<std::string>()).value()});
  if (keys.data.size() != key_bytes || keys.session.empty())
    throw std::runtime_error("a key is missing");
  return keys;
}

DataDir::DataDir(const std::filesystem::path& path) : path_(path), lock_(path) {
  std::filesystem::remove(path_ / database_copy_name);  // of a backup that a kill ended
  const std::filesystem::path partial = path_ / partial_restore_name;
  if (!std::filesystem::exists(partial)) return;
  if (!std::filesystem::exists(database_file()))
    fail(path_, "a restore into it didn't come to its end; run it again");
  std::filesystem::remove_all(partial);  // everything is in its place
}

std::optional<std::string> DataDir::read(const std::string& name) const {
  std::ifstream in(path_ / name, std::ios::binary);
  if (!in) {
    if (std::filesystem::exists(path_ / name)) fail(path_ / name, "can't be read");
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
    ::fsync(directory);  // so that the name is on disk, too
    ::close(directory);
  }
}

Keys DataDir::keys() const {
  if (const auto text = read(keys_name)) {
    try {
      return parse_keys(*text);
    } catch (const std::exception& failure) {
      fail(path_ / keys_name, std::string("is damaged: ") + failure.what());
    }
  }
  if (std::filesystem::exists(database_file()))
    fail(path_ / keys_name, "is gone, and the database can't be read without it");
  const Keys fresh = {.data = random_bytes(key_bytes),
                      .session = {{hex(random_bytes(8)), random_bytes(key_bytes)}}};
  write(keys_name, encode(fresh));
  return fresh;
}

std::string DataDir::internal_secret() const {
  if (auto text = read(secret_name)) {
    while (!text->empty() && text->back() == '\n') text->pop_back();
    if (text->empty()) fail(path_ / secret_name, "is empty");
    return *text;
  }
  const std::string secret = random_token("is_");
  write(secret_name, secret + "\n");
  return secret;
}

}  // namespace berth
