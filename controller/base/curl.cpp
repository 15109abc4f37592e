#include "controller/base/curl.h"

#include <algorithm>
#include <ctime>
#include <new>

#include "controller/base/text.h"

namespace berth::curl {

// curl_global_init has to be called before everything else, and isn't thread-safe in every build.
void initialise() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw std::runtime_error("libcurl can't be initialised");
}

void Lines::add(const std::string& line) {
  curl_slist* longer = curl_slist_append(list_.get(), line.c_str());
  if (!longer) throw std::bad_alloc();
  static_cast<void>(list_.release());  // it is a part of the longer list
  list_.reset(longer);
}

Easy::Easy() : easy_(nullptr, curl_easy_cleanup) {
  initialise();
  easy_.reset(curl_easy_init());
  if (!easy_) throw std::bad_alloc();
}

void Easy::check(CURLcode result) {
  if (result == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (result != CURLE_OK)
    throw std::runtime_error(std::string("libcurl: ") + curl_easy_strerror(result));
}

void Easy::set_blob(CURLoption option, const std::string& bytes) {
  curl_blob blob{const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_COPY};
  set(option, &blob);
}

long Easy::status() const {
  long code = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::optional<std::chrono::seconds> Easy::retry_after() const {
  curl_header* header = nullptr;
  if (curl_easy_header(easy_.get(), "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
    return std::nullopt;
  const std::string text = header->value;
  if (const auto seconds = parse_number<long>(text); seconds && *seconds >= 0)
    return std::chrono::seconds(*seconds);
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::chrono::seconds(std::max<time_t>(0, date - std::time(nullptr)));
}

}  // namespace berth::curl
