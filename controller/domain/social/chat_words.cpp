#include "controller/domain/social/chat_words.h"

#include <set>

#include "controller/base/error.h"
#include "controller/domain/kernel/audit.h"

namespace berth::chat {
namespace {

void check(const std::set<std::string>& list) {
  if (list.size() > max_words)
    throw invalid_field("words", "must have at most " + std::to_string(max_words) + " entries");
  for (const std::string& word : list)
    if (word.size() > max_word_bytes || !WordFilter::can_match(word))
      throw invalid_field("words", "must be words of at most " + std::to_string(max_word_bytes) +
                                       " bytes, each with a letter or a digit");
}

}  // namespace

std::vector<std::string> words(db::Tx& tx) {
  std::vector<std::string> list;
  auto rows = tx.query(R"(SELECT word FROM chat_words ORDER BY word)");
  while (rows.next()) list.push_back(rows.text("word"));
  return list;
}

void set_words(db::Tx& tx, const std::vector<std::string>& list, const std::string& actor) {
  const std::set<std::string> unique(list.begin(), list.end());
  check(unique);
  tx.execute(R"(DELETE FROM chat_words)");
  for (const std::string& word : unique)
    tx.execute(R"(INSERT INTO chat_words (word) VALUES ($1))", word);
  tx.execute(R"(UPDATE chat_words_version SET version = version + 1)");
  audit::record(tx, actor, "chat.set_words", "chat",
                "{\"words\":" + std::to_string(unique.size()) + "}");
}

std::shared_ptr<const Filter::Version> Filter::at(db::Tx& tx) {
  const std::int64_t number = tx.number(R"(SELECT version FROM chat_words_version)");
  {
    const std::lock_guard lock(mutex_);
    if (newest_ && newest_->number == number) return newest_;
  }
  auto made =
      std::make_shared<const Version>(Version{.number = number, .filter = WordFilter(words(tx))});
  const std::lock_guard lock(mutex_);
  // This snapshot may be older than the one that another thread has seen.
  if (!newest_ || newest_->number < number) newest_ = made;
  return made;
}

}  // namespace berth::chat
