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

// One call of the client, however many attempts it takes.
struct Call {
  std::string_view verb;    // the verb that the observer is told
  std::string_view plural;  // the plural that the observer is told; may be empty
  std::string method;
  std::string path;  // with the query
  std::string body;
  std::string content_type;
  size_t max_body_bytes;
  std::string name() const;  // for messages; without the query
};

// Sends calls: adds credentials, retries and reports metrics, for every verb. Thread-safe.
class Requests {
 public:
  Requests(const Kubeconfig& config, ClientOptions options);
  // Stops the calls of other threads and waits for them.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Returns the answer to the last attempt, with any status except 0. Throws ApiError with status 0
  // if there was no usable answer.
  HttpAnswer send(const Call& call);
  // Like send(), but limits the time of silence, and the whole time only by `within`. The body of a
  // 200 is passed to `on_piece`. Also throws Stopped, and whatever `on_piece` throws.
  HttpAnswer stream(const Call& call, const std::function<void(std::string_view)>& on_piece,
                    const std::stop_token& stop,
                    std::optional<std::chrono::milliseconds> within = {});

  const ClientOptions& options() const { return options_; }

 private:
  class Running;
  HttpAnswer attempts(const Call& call, const HttpRequest& request, const AnswerReader& reader,
                      const std::stop_token& stop);
  HttpAnswer attempt(const Call& call, const Access& access, HttpRequest request,
                     const AnswerReader& reader, const std::stop_token& stop);
  Access access(const Call& call, const std::stop_token& stop);
  HttpRequest request_of(const Call& call) const;
  // The time that an attempt may take now. Throws Fenced if a write may not be sent.
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
