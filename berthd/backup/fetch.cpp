#include "berthd/backup/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "berthd/backup/files.h"
#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/curl.h"
#include "controller/base/sealed_file.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

constexpr long connect_timeout_s = 10;
// berthd copies and checks the whole database before it sends the first byte.
constexpr long longest_silence_s = 15 * 60;
constexpr long longest_s = 6 * 60 * 60;
constexpr size_t most_of_a_refusal = 4 * 1024;
constexpr const char* size_header = "x-archive-size:";

// The incomplete archive: a file beside its final place, whose name the next attempt uses again.
class Partial {
 public:
  explicit Partial(const fs::path& file)
      : place_(file), path_(file.string() + ".partial"), file_(path_, O_WRONLY | O_CREAT) {
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      throw std::runtime_error(path_.string() + ": another backup is writing this file");
    if (::ftruncate(file_.get(), 0) != 0)
      throw std::runtime_error(path_.string() + ": " + std::strerror(errno));
  }
  ~Partial() {
    if (!complete_) ::unlink(path_.c_str());
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  void write(std::string_view bytes) { write_all(file_.get(), bytes); }
  void finish() {
    sync(file_.get());
    rename_lasting(path_, place_);
    complete_ = true;
  }

 private:
  const fs::path place_;
  const fs::path path_;
  const OpenFile file_;
  bool complete_ = false;
};

// The answer that arrives: an archive or an error.
class Arrival {
 public:
  Arrival(const curl::Easy& easy, Partial& partial, const sealed_file::Opening& opening,
          const Progress& progress)
      : easy_(easy),
        partial_(partial),
        progress_(progress),
        opener_(opening.key, [](std::string_view) {}) {
    partial.write(opening.header);
  }

  static size_t on_header(const char* data, size_t, size_t size, void* self) {
    const std::string line = lower_case({data, size});
    if (line.starts_with(size_header))
      static_cast<Arrival*>(self)->expected_ =
          std::strtoull(line.c_str() + std::strlen(size_header), nullptr, 10);
    return size;
  }
  // libcurl is written in C, so exceptions must not pass through it.
  static size_t on_body(const char* data, size_t, size_t size, void* self) {
    auto& arrival = *static_cast<Arrival*>(self);
    try {
      arrival.take({data, size});
      return size;
    } catch (...) {
      arrival.failure_ = std::current_exception();
      return 0;
    }
  }

  void check(CURLcode code, const std::string& url) {
    if (failure_) std::rethrow_exception(failure_);
    if (code != CURLE_OK)
      throw std::runtime_error(url + ": " + curl_easy_strerror(code) +
                               (code == CURLE_PARTIAL_FILE ? "; berthd's log has the reason" : ""));
    if (status() != 200) throw std::runtime_error(url + " refuses: " + refusal());
    opener_.finish();
  }

 private:
  long status() const { return easy_.status(); }
  void take(std::string_view bytes) {
    if (status() != 200) {
      refusal_ += bytes.substr(0, most_of_a_refusal - std::min(most_of_a_refusal, refusal_.size()));
      return;
    }
    opener_.write(bytes);
    partial_.write(bytes);
    got_ += bytes.size();
    progress_(got_, expected_);
  }
  // Returns the message of an error in any of the forms of the API.
  std::string refusal() const {
    const auto body = nlohmann::json::parse(refusal_, nullptr, false);
    for (const char* place : {"/error/message", "/message", "/errors/detail"}) {
      const nlohmann::json::json_pointer pointer(place);
      if (body.is_object() && body.contains(pointer) && body.at(pointer).is_string())
        return body.at(pointer).get<std::string>() + " (" + std::to_string(status()) + ")";
    }
    return "status " + std::to_string(status());
  }

  const curl::Easy& easy_;
  Partial& partial_;
  const Progress& progress_;
  sealed_file::Opener opener_;
  std::string refusal_;
  std::uint64_t got_ = 0;
  std::uint64_t expected_ = 0;
  std::exception_ptr failure_;
};

curl::Lines headers_of(const Fetch& fetch) {
  curl::Lines headers;
  headers.add("Content-Type: application/json");
  headers.add("Expect:");
  headers.add("x-internal-secret: " + fetch.internal_secret);
  return headers;
}

}  // namespace

void fetch(const Fetch& fetch, const Progress& progress) {
  curl::Easy easy;
  const auto opening = sealed_file::new_file(fetch.passphrase);
  Partial partial(fetch.file);
  Arrival arrival(easy, partial, opening, progress);

  const std::string url = fetch.url + "/api/internal/backup";
  const std::string body = nlohmann::json{{"key", base64(opening.key)}}.dump();
  const curl::Lines headers = headers_of(fetch);
  easy.set(CURLOPT_URL, url);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_POSTFIELDS, body.c_str());
  easy.set(CURLOPT_HTTPHEADER, headers);
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
  easy.set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  easy.set(CURLOPT_LOW_SPEED_TIME, longest_silence_s);
  easy.set(CURLOPT_TIMEOUT, longest_s);
  easy.set(CURLOPT_HEADERFUNCTION, &Arrival::on_header);
  easy.set(CURLOPT_HEADERDATA, &arrival);
  easy.set(CURLOPT_WRITEFUNCTION, &Arrival::on_body);
  easy.set(CURLOPT_WRITEDATA, &arrival);
  arrival.check(easy.perform(), url);
  partial.finish();
}

}  // namespace berth::backup
