#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/social/word_filter.h"

// The words that are filtered out of the chat; admins maintain them.
namespace berth::chat {

// The filter is made anew whenever the list has changed: some milliseconds.
inline constexpr size_t max_words = 5'000;
inline constexpr size_t max_word_bytes = 128;

// In the order of their bytes.
std::vector<std::string> words(db::Tx& tx);
// The whole list; a word that is there twice counts once. It holds for what was written before,
// too. Throws validation_failed for a word that nothing could match (WordFilter::can_match).
void set_words(db::Tx& tx, const std::vector<std::string>& list, const std::string& actor);

// The filter of the list as a transaction sees it. Thread-safe.
class Filter {
 public:
  struct Version {
    std::int64_t number = 0;
    WordFilter filter;
  };
  std::shared_ptr<const Version> at(db::Tx& tx);

 private:
  std::mutex mutex_;
  std::shared_ptr<const Version> newest_;  // that was asked for
};

}  // namespace berth::chat
