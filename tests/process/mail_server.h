#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/process/berthd.h"
#include "tests/programs.h"

namespace berth::process {

// smtp_server.py as a child process.
class MailServer {
 public:
  explicit MailServer(Flags flags = {}) : flags_(std::move(flags)) { start(); }

  // Uses the same port as before, if it had one.
  void start() {
    std::filesystem::remove(dir_.path() / "port");
    Flags all = {berth::test::smtp_server, "--dir", dir_.path().string(), "--port",
                 std::to_string(port_)};
    all.insert(all.end(), flags_.begin(), flags_.end());
    process_ = std::make_unique<Process>("/usr/bin/python3", all, dir_.path() / "log");
    if (!eventually([&] { return !dir_.read("port").empty(); }))
      throw std::runtime_error("the mail server did not start: " + dir_.read("log"));
    port_ = std::stoi(dir_.read("port"));
  }
  void stop() { process_.reset(); }

  Flags berthd(const std::string& scheme = "smtp", const std::string& login = "") const {
    const std::filesystem::path authorities = dir_.path() / "certificate.pem";
    // The file has to exist when berthd starts, which may be before the mail server does.
    std::ofstream(authorities, std::ios::app).flush();
    return {"--smtp-url",     scheme + "://" + login + "127.0.0.1:" + std::to_string(port_),
            "--mail-from",    "Bérth <no-reply@berth.example>",
            "--smtp-ca-file", authorities.string(),
            "--rate-limits",  "off"};
  }

  std::vector<json> messages() const {
    std::vector<json> result;
    std::istringstream in(dir_.read("messages.jsonl"));
    for (std::string line; std::getline(in, line);)
      if (!in.eof()) result.push_back(json::parse(line));
    return result;
  }
  std::vector<json> messages_to(const std::string& address) const {
    std::vector<json> result;
    for (const json& message : messages())
      if (message.at("to") == json::array({address})) result.push_back(message);
    return result;
  }

 private:
  TempDir dir_;
  Flags flags_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace berth::process
