#include "controller/domain/oauth/client_documents.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "controller/base/error.h"

namespace berth::oauth {

void ClientDocuments::keep(const apps::ClientDocument& document) {
  const std::scoped_lock lock(mutex_);
  kept_.insert_or_assign(document.url, Kept{document, clock_.now()});
  if (kept_.size() <= max_kept) return;
  kept_.erase(std::ranges::min_element(
      kept_, {}, [](const auto& of_url) { return of_url.second.fetched_at; }));
}

apps::ClientDocument ClientDocuments::find(const std::string& client_id) {
  if (const auto why = apps::refuse_client_url(client_id, allowed_))
    throw Error(Code::invalid_request, "a client_id that is a URL " + *why);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(client_id);
    if (found != kept_.end() && clock_.now() - found->second.fetched_at < fresh_for)
      return found->second.document;
  }
  Shares::Claim place(places_, Claimant::of_thread());
  if (place.take() != Shares::Taken::yes) {
    Error refusal(Code::unavailable,
                  "too many requests wait for the documents of clients; try again later");
    refusal.retry_after = std::chrono::seconds(5);
    throw refusal;
  }
  std::string text;
  try {
    text = fetch_(client_id);
  } catch (const std::exception& failure) {
    throw Error(Code::invalid_request,
                std::string("the document at client_id can't be had: ") + failure.what());
  }
  try {
    const apps::ClientDocument document = apps::read_client_document(client_id, text);
    keep(document);
    return document;
  } catch (const std::runtime_error& failure) {
    throw Error(Code::invalid_request, std::string("the document at client_id ") + failure.what());
  }
}

}  // namespace berth::oauth
