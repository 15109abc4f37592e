#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "reconcilers/kube/client.h"
#include "reconcilers/kube/connection.h"
#include "reconcilers/kube/credentials.h"
#include "reconcilers/kube/server_url.h"

namespace berth::kube {

// One call of the client, before it is known how many attempts it takes.
struct Call {
  std::string_view verb;    // as the observer is told
  std::string_view plural;  // likewise; empty where there is none
  std::string method;
  std::string path;  // with the query
  std::string body;
  std::string content_type;
  size_t max_body_bytes;
  std::string name() const;  // for messages: without the query
};

// Sends calls: credentials, retries and metrics, whatever the verb is. Thread-safe.
class Requests {
 public:
  Requests(const Kubeconfig& config, ClientOptions options);
  // Stops what is under way in other threads and waits for that.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // The last attempt's answer, whatever its status but 0. Throws ApiError with status 0 where there
  // was no usable one.
  HttpAnswer send(const Call& call);
  // The same without a limit on the whole, only on silence. A 200's body goes to `on_piece`.
  // Throws Stopped too, and what `on_piece` throws.
  HttpAnswer stream(const Call& call, const std::function<void(std::string_view)>& on_piece,
                    const std::stop_token& stop);

  const ClientOptions& options() const { return options_; }

 private:
  class Running;
  HttpAnswer attempts(const Call& call, const HttpRequest& request, const AnswerReader& reader,
                      const std::stop_token& stop);
  HttpAnswer attempt(const Call& call, const Access& access, HttpRequest request,
                     const AnswerReader& reader, const std::stop_token& stop);
  Access access(const Call& call, const std::stop_token& stop);
  HttpRequest request_of(const Call& call) const;
  // The time that an attempt has now. Throws Fenced.
  std::chrono::milliseconds time_for(const Call& call, std::chrono::milliseconds most) const;
  void pause(std::chrono::seconds wait, const std::stop_token& stop);

  const Endpoint endpoint_;
  const bool verify_tls_;
  const ClientOptions options_;
  Credentials credentials_;
  ConnectionPool pool_;
  std::stop_source closing_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int running_ = 0;
};

}  // namespace berth::kube
