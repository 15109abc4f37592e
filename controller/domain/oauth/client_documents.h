#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/shares.h"
#include "controller/domain/apps/unregistered.h"

namespace berth::oauth {

// The documents of clients that aren't registered (apps/unregistered.h), in memory. One is fetched
// when somebody is asked to allow its client something. Thread-safe.
class ClientDocuments {
 public:
  // How long a document is used without fetching it anew: while somebody reads the question and
  // answers it.
  static constexpr Duration fresh_for = std::chrono::minutes(10);
  // How many are kept. If there are more, the oldest one goes.
  static constexpr std::size_t max_kept = 500;
  // How many requests may wait for documents, which keeps each from handling something else.
  static constexpr std::size_t max_waiting = 8;

  // Returns the document at a URL; throws std::exception (base/document_fetch.h).
  using Fetch = std::function<std::string(const std::string& url)>;
  // `clock` has to outlive this object.
  ClientDocuments(const Clock& clock, Fetch fetch, apps::ClientUrls allowed)
      : clock_(clock), fetch_(std::move(fetch)), allowed_(allowed) {}

  // Returns the document of the client with this client_id. May take as long as a fetch, five
  // seconds, so no transaction may be open. Throws invalid_request if the client_id or the document
  // can't be used, or the document can't be had, which is remembered for nobody; and unavailable if
  // too many requests wait for documents already.
  apps::ClientDocument find(const std::string& client_id);

 private:
  struct Kept {
    apps::ClientDocument document;
    Instant fetched_at;
  };
  void keep(const apps::ClientDocument& document);

  const Clock& clock_;
  const Fetch fetch_;
  const apps::ClientUrls allowed_;
  Shares places_{Pool::client_documents, max_waiting};
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;  // by URL
};

}  // namespace berth::oauth
