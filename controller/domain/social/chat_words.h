#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/social/word_filter.h"

// The list of words that are filtered from the chat, which administrators maintain.
namespace berth::chat {

// Whenever the list has changed, the filter is built anew, which takes some milliseconds.
inline constexpr size_t max_words = 5'000;
inline constexpr size_t max_word_bytes = 128;

// The list, in byte order.
std::vector<std::string> words(db::Tx& tx);
// Replaces the whole list; duplicates count once. It also applies to messages written before.
// Throws validation_failed for a word that can't match anything (WordFilter::can_match).
void set_words(db::Tx& tx, const std::vector<std::string>& list, const std::string& actor);

// Provides the filter for the word list that a transaction sees. Thread-safe.
class Filter {
 public:
  struct Version {
    std::int64_t number = 0;
    WordFilter filter;
  };
  // The filter; built by this call if the list has changed.
  std::shared_ptr<const Version> at(db::Tx& tx);

 private:
  std::mutex mutex_;
  std::shared_ptr<const Version> newest_;  // the newest version that was requested so far
};

}  // namespace berth::chat
