#pragma once

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

// The part of libcurl that all HTTP clients of the project share: libcurl is initialised once, an
// option that can't be set is an error, and all memory is freed. Each client sets limits, protocols
// and certificates itself, because the clients talk to different servers.
namespace berth::curl {

// Initialises libcurl at the first call. Throws std::runtime_error if that fails. Thread-safe.
void initialise();

// A list of lines for libcurl, such as header fields.
class Lines {
 public:
  // Throws std::bad_alloc.
  void add(const std::string& line);
  curl_slist* get() const { return list_.get(); }  // null while it is empty

 private:
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> list_{nullptr, curl_slist_free_all};
};

// One of libcurl's easy handles, which makes one transfer at a time. Only one thread may use it at
// a time.
class Easy {
 public:
  // Initialises libcurl if that hasn't happened yet. Throws std::runtime_error or std::bad_alloc.
  Easy();

  CURL* get() const { return easy_.get(); }
  // Throws std::bad_alloc, or std::runtime_error if libcurl doesn't know the option or refuses the
  // value. Texts are copied by libcurl, except for CURLOPT_POSTFIELDS.
  template <typename Value>
  void set(CURLoption option, Value value) {
    check(curl_easy_setopt(easy_.get(), option, value));
  }
  void set(CURLoption option, const std::string& text) { set(option, text.c_str()); }
  void set(CURLoption option, const Lines& lines) { set(option, lines.get()); }
  // Sets an option that takes a block of memory. libcurl copies it.
  void set_blob(CURLoption option, const std::string& bytes);
  // Forgets all options, but keeps the connection open.
  void reset() { curl_easy_reset(easy_.get()); }

  // Sends the request and receives the response. Returns libcurl's result code.
  CURLcode perform() { return curl_easy_perform(easy_.get()); }
  // Returns the HTTP status code of the last response; 0 if there was none.
  long status() const;
  // Returns the last response's Retry-After, which holds seconds or a date (RFC 9110, section
  // 10.2.3); nothing if there is none that can be read.
  std::optional<std::chrono::seconds> retry_after() const;

 private:
  static void check(CURLcode result);
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_;
};

}  // namespace berth::curl
